package v1beta1

// WebsitePin is a commit that is served instead of the newest one.
type WebsitePin struct {
	// commit is the full name of the commit: 40 or 64 hexadecimal digits in lower case.
	// +required
	// +k8s:required
	Commit string `json:"commit" protobuf:"bytes,1,opt,name=commit"`

	// cause is Suspend if the server has set pin because of suspend, and absent if a
	// user has. The server removes a pin with the cause Suspend when suspend is no
	// longer true, and the cause when the commit is changed. More values can be added.
	// +optional
	// +k8s:optional
	Cause PinCause `json:"cause,omitempty" protobuf:"bytes,2,opt,name=cause,casttype=PinCause"`
}

// PinCause is why a Website is pinned. More values may be added. A client that does
// not know a value must keep it.
// +enum
// +k8s:enum
type PinCause string

// PinCauseSuspend means that the Website was pinned because it was suspended.
const PinCauseSuspend PinCause = "Suspend"

// PinnedCommit returns the commit of spec.pin; empty without one.
func (s *WebsiteSpec) PinnedCommit() string {
	if s.Pin == nil {
		return ""
	}
	return s.Pin.Commit
}
