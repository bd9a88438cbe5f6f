package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// serviceMissing is for pods that are unreachable because there is no Service, with the reason why it
// could not be created.
var serviceMissing = only(func(in *Input) bool { return in.ServiceMissing }, childProblem)

// noEndpoints returns a finding if the Service selects none of the ready pods. Without a ready pod,
// there is another problem, or the cache lags.
func noEndpoints(in *Input) *finding {
	ready := in.ReadyPods()
	port := httpPort(in.Service)
	if in.Service == nil || len(ready) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(in.Service.Selector.Set())
	for _, pod := range ready {
		if port != nil && in.Service.Selector != "" && selector.Matches(pod.Labels.Set()) &&
			workload.HasPort(pod, port.TargetPort) {
			return nil
		}
	}
	return &finding{reason: v1beta1.WebsiteReasonNoEndpoints,
		message: fmt.Sprintf("Service %q selects none of the ready pods, or a port that they do not have", in.Service.Name)}
}
