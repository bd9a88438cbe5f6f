package status

import (
	"fmt"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// requestsRejected returns a finding if pods reject every request, because the Secret with the users is
// missing or invalid. A missing one may be created later. Outdated pods say nothing about the Secret
// of the spec.
func requestsRejected(in *Input) *finding {
	users := in.Website.Spec.Access.BasicAuth
	if users == nil || !in.current() || in.Deployment.Status.UpdatedReplicas != in.Deployment.Status.Replicas {
		return nil
	}
	silent := false
	for _, pod := range in.Pods {
		if workload.HasEnded(pod.Pod) || pod.IsTerminating {
			continue
		}
		if !pod.Observed || !pod.Reachable {
			silent = true
			continue
		}
		why, secret := "", fmt.Sprintf("Secret %q of spec.access.basicAuth.secretRef", users.SecretRef.Name)
		switch pod.Access {
		case workload.AccessSecretMissing:
			why = secret + " does not exist, or has neither username and password nor htpasswd"
		case workload.AccessUnsupportedHash:
			why = "each line of the key htpasswd in " + secret + " must have a hash of the format $apr1$ (htpasswd -m), " +
				"{SSHA} or {SHA} (htpasswd -s); bcrypt is not supported"
		case workload.AccessSecretInvalid:
			why = fmt.Sprintf("%s is invalid; see \"kubectl logs --selector controller=%s --container git-sync\"", secret,
				in.Website.Name)
		default:
			continue
		}
		return &finding{reason: v1beta1.WebsiteReasonAccessSecretInvalid, message: "every request is rejected: " + why,
			transient: pod.Access == workload.AccessSecretMissing}
	}
	if before := in.reported(v1beta1.WebsiteReady); before == nil ||
		before.Reason != v1beta1.WebsiteReasonAccessSecretInvalid {
		return nil
	}
	return in.stillReported(v1beta1.WebsiteReady, in.Probing && silent)
}
