package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// serviceMissing finds that pods are unreachable because there is no Service, for
// the reason for which it could not be created.
func serviceMissing(in *Input) *finding {
	if !in.ServiceMissing {
		return nil
	}
	return childProblem(in)
}

// noEndpoints finds that the Service sends requests to none of the ready pods. When
// no pod is known to be ready, that is another problem, or the cache lags behind.
func noEndpoints(in *Input) *finding {
	ready := in.ReadyPods()
	port := httpPort(in.Service)
	if in.Service == nil || len(ready) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(in.Service.Spec.Selector)
	for _, pod := range ready {
		if port != nil && len(in.Service.Spec.Selector) > 0 && selector.Matches(labels.Set(pod.Labels)) &&
			workload.HasPort(pod, port.TargetPort) {
			return nil
		}
	}
	return &finding{reason: v1beta1.WebsiteReasonNoEndpoints,
		message: fmt.Sprintf("Service %q selects none of the ready pods, or a port that they do not have", in.Service.Name)}
}
