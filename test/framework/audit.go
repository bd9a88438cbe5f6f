package framework

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// ControllerUser is the ServiceAccount of website-controller.
const ControllerUser = "system:serviceaccount:website-system:website-controller"

// APIServerUser is the ServiceAccount of website-apiserver.
const APIServerUser = "system:serviceaccount:website-system:website-apiserver"

// AuditLength returns the current size of the audit log of a component in bytes, for AuditEvents.
func AuditLength(t *testing.T, component string) int64 {
	t.Helper()
	info, err := os.Stat(Cluster.AuditLog(component))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// AuditEvents returns the events that a component has logged since the size of its log was from. It
// skips a line that was incomplete at that time, or that is incomplete now.
func AuditEvents(t *testing.T, component string, from int64) []auditv1.Event {
	t.Helper()
	file, err := os.Open(Cluster.AuditLog(component))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(max(0, from-1), io.SeekStart); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(file)
	if from > 0 {
		if _, err := lines.ReadString('\n'); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			t.Fatal(err)
		}
	}
	var events []auditv1.Event
	for decoder := json.NewDecoder(lines); ; {
		var event auditv1.Event
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return events
		}
		if err != nil {
			t.Fatalf("reading the audit log of %s: %v", component, err)
		}
		events = append(events, event)
	}
}
