package v1beta1

// WebsitePin is a commit that is served instead of the newest one.
type WebsitePin struct {
	// commit is the full name of the commit: 40 or 64 hexadecimal digits in lower case.
	// +required
	// +k8s:required
	Commit string `json:"commit" protobuf:"bytes,1,opt,name=commit"`
}

// PinnedCommit returns the commit of spec.pin; empty without one.
func (s *WebsiteSpec) PinnedCommit() string {
	if s.Pin == nil {
		return ""
	}
	return s.Pin.Commit
}
