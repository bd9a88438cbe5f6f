package controller

import (
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestControllerStreamsItsLists: client-go falls back to plain lists if a server does not stream
// them, so its requests prove that website-apiserver does.
func TestControllerStreamsItsLists(t *testing.T) {
	t.Parallel()
	streamed := 0
	for _, event := range framework.AuditEvents(t, "website-apiserver", 0) {
		// A controller of one namespace belongs to a test, which may grant its permissions late:
		// client-go falls back then, too.
		if event.User.Username != framework.ControllerUser || event.ObjectRef == nil ||
			event.ObjectRef.Resource != "websites" || event.ObjectRef.Namespace != "" {
			continue
		}
		switch {
		case event.Verb == "list":
			t.Errorf("the controller listed by %s", event.RequestURI)
		case event.Verb == "watch" && strings.Contains(event.RequestURI, "sendInitialEvents=true"):
			streamed++
		}
	}
	if streamed == 0 {
		t.Error("the controller has not asked for a streaming list")
	}
}
