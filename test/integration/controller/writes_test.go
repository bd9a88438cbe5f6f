package controller

import (
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// controllerWrites returns the controller's writes since the audit logs of both API servers had the
// given lengths. A request that one forwards to the other counts once.
func controllerWrites(t *testing.T, kubeAudit, websiteAudit int64) []*auditv1.ObjectReference {
	t.Helper()
	var writes []*auditv1.ObjectReference
	for _, log := range []struct {
		component string
		from      int64
	}{{"kube-apiserver", kubeAudit}, {"website-apiserver", websiteAudit}} {
		for _, event := range framework.AuditEvents(t, log.component, log.from) {
			if event.User.Username != framework.ControllerUser || !mutating(event.Verb) || event.ObjectRef == nil {
				continue
			}
			forwarded := event.ObjectRef.APIGroup == v1beta1.GroupName && log.component == "kube-apiserver"
			review := event.ObjectRef.APIGroup == "authentication.k8s.io" || event.ObjectRef.APIGroup == "authorization.k8s.io"
			if !forwarded && !review {
				writes = append(writes, event.ObjectRef)
			}
		}
	}
	return writes
}

func mutating(verb string) bool {
	switch verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}
