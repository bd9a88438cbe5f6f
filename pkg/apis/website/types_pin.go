package website

// WebsitePin is a commit that is served instead of the newest one.
type WebsitePin struct {
	// Commit is the full name of the commit.
	Commit string
	// Cause is empty if a user has set the pin.
	Cause PinCause
}

// PinCause is the cause of pinning a Website.
type PinCause string

// PinCauseSuspend means that the Website was pinned because it was suspended.
const PinCauseSuspend PinCause = "Suspend"

// PinnedCommit returns the commit of the pin; empty without one.
func (s *WebsiteSpec) PinnedCommit() string {
	if s.Pin == nil {
		return ""
	}
	return s.Pin.Commit
}
