package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// rejecting makes the second pod reject every request.
func rejecting(access workload.Access) func(*Input) {
	return func(in *Input) {
		in.Website.Spec.Access.BasicAuth = &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: "readers"}}
		in.Pods[1].Access = access
	}
}

func reportedAccess(in *Input) {
	in.Website.Status.Conditions = []metav1.Condition{
		condition("Ready", metav1.ConditionFalse, v1beta1.WebsiteReasonAccessSecretInvalid, "x"),
		condition("Stalled", metav1.ConditionTrue, v1beta1.WebsiteReasonAccessSecretInvalid, "x"),
	}
}

// TestAccess: a site that rejects every request is not Ready, even if its pods are.
func TestAccess(t *testing.T) {
	const invalid = "AccessSecretInvalid"
	for name, test := range map[string]struct {
		tweaks []func(*Input)
		// want is Ready, followed by Stalled or Reconciling.
		want    string
		message string
	}{
		"users are admitted": {[]func(*Input){rejecting(workload.AccessOpen)}, "True/Serving", ""},
		"missing": {[]func(*Input){rejecting(workload.AccessSecretMissing)}, "False/" + invalid + " Reconciling/" +
			invalid, `Secret "readers" of spec.access.basicAuth.secretRef does not exist`},
		"invalid": {[]func(*Input){rejecting(workload.AccessSecretInvalid)},
			"False/" + invalid + " Stalled/" + invalid, `Secret "readers" of spec.access.basicAuth.secretRef is invalid`},
		"bcrypt": {[]func(*Input){rejecting(workload.AccessUnsupportedHash)},
			"False/" + invalid + " Stalled/" + invalid,
			`the key htpasswd in Secret "readers" of spec.access.basicAuth.secretRef must have a hash of the format $apr1$`},
		"not of the spec any more": {[]func(*Input){rejecting(workload.AccessSecretInvalid), func(in *Input) {
			in.Website.Spec.Access.BasicAuth = nil
		}}, "True/Serving", ""},
		"pod that ends": {[]func(*Input){rejecting(workload.AccessSecretInvalid), func(in *Input) {
			in.Pods[1].IsTerminating = true
		}}, "True/Serving", ""},
		"rolling out": {[]func(*Input){rejecting(workload.AccessSecretMissing), func(in *Input) {
			in.Deployment.Status.UpdatedReplicas = 1
		}}, "False/RolloutInProgress Reconciling/RolloutInProgress", ""},
		"starting": {[]func(*Input){rejecting(workload.AccessSecretMissing), func(in *Input) {
			in.Deployment.Status.AvailableReplicas = 1
		}}, "False/" + invalid + " Reconciling/" + invalid, "does not exist"},
		"scaling up": {[]func(*Input){rejecting(workload.AccessSecretMissing), func(in *Input) {
			in.Website.Spec.Replicas = ptr.To[int32](3)
		}}, "False/" + invalid + " Reconciling/" + invalid, "does not exist"},
		"not probed yet, and reported": {[]func(*Input){rejecting(workload.AccessOpen), reportedAccess, func(in *Input) {
			in.Pods[1].Observed = false
		}}, "False/" + invalid + " Stalled/" + invalid, ""},
		"unreachable, and reported": {[]func(*Input){rejecting(workload.AccessOpen), reportedAccess, func(in *Input) {
			in.Pods[1].Reachable = false
		}}, "False/" + invalid + " Stalled/" + invalid, ""},
		"resolved": {[]func(*Input){rejecting(workload.AccessOpen), reportedAccess}, "True/Serving", ""},
		"commit observation disabled since": {[]func(*Input){rejecting(workload.AccessOpen), reportedAccess, func(in *Input) {
			in.Probing, in.Pods[0].Observed, in.Pods[1].Observed = false, false, false
		}}, "True/Serving", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(test.tweaks...)
			status := Compute(in)
			ready := meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteReady)
			got := string(ready.Status) + "/" + ready.Reason
			for _, kind := range []string{v1beta1.WebsiteStalled, v1beta1.WebsiteReconciling} {
				if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
					got += " " + kind + "/" + c.Reason
				}
			}
			if got != test.want || !strings.Contains(ready.Message, test.message) {
				t.Errorf("got %s: %s, want %s: %s", got, ready.Message, test.want, test.message)
			}
			checkAbnormal(t, in, &status)
			if available := meta.FindStatusCondition(status.Conditions,
				v1beta1.WebsiteAvailable); available.Status != metav1.ConditionTrue {
				t.Errorf("Available is %s: the pods are", available.Status)
			}
			in.Website.Status, in.Now = status, in.Now.Add(time.Hour)
			if again := Compute(in); !equalStatus(again, status) {
				t.Errorf("an hour later:\n got %+v\nwant %+v", again, status)
			}
		})
	}
}
