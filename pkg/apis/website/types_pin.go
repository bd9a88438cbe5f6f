package website

// WebsitePin is a commit that is served instead of the newest one.
type WebsitePin struct {
	// Commit is the full name of the commit.
	Commit string
}

// PinnedCommit returns the commit of the pin; empty without one.
func (s *WebsiteSpec) PinnedCommit() string {
	if s.Pin == nil {
		return ""
	}
	return s.Pin.Commit
}
