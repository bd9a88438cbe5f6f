package resources

import (
	"fmt"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

var (
	limitRangeBound = regexp.MustCompile(`(minimum|maximum) (\S+) usage per Container is ([0-9A-Za-z.]+)(, but no limit)?`)
	limitRangeRatio = regexp.MustCompile(`(\S+) max limit to request ratio per Container is ([0-9A-Za-z.]+)`)
)

// LimitedContainers returns the containers that a LimitRange rejects, with the fields that set their
// resources. The message of kube-apiserver does not name them.
func LimitedContainers(website *v1beta1.Website, message string) []string {
	var found []string
	for _, container := range []struct {
		name, field string
		resources   corev1.ResourceRequirements
		defaults    corev1.ResourceRequirements
	}{
		{NginxContainer, "spec.resources.server", website.Spec.Resources.Server, serverDefaults},
		{AgentContainer, "spec.resources.sync", website.Spec.Resources.Sync, gitSyncDefaults(website)},
		{GitSyncContainer, "spec.resources.sync", website.Spec.Resources.Sync, gitSyncDefaults(website)},
	} {
		applied := requirements(container.resources, container.defaults)
		if exceeds(message, *applied.Requests, *applied.Limits) {
			found = append(found, fmt.Sprintf("%s (%s)", container.name, container.field))
		}
	}
	return found
}

// exceeds reports whether a LimitRange rejects requests or limits.
func exceeds(message string, requests, limits corev1.ResourceList) bool {
	for _, bound := range limitRangeBound.FindAllStringSubmatch(message, -1) {
		name := corev1.ResourceName(bound[2])
		value, err := resource.ParseQuantity(bound[3])
		if err != nil {
			continue
		}
		request, limit := requests[name], limits[name]
		// A container without a limit gets the default of the LimitRange, if there is one.
		isUnlimited := limit.IsZero() && bound[4] != ""
		if bound[1] == "minimum" && request.Cmp(value) < 0 || bound[1] == "maximum" && (isUnlimited || limit.Cmp(value) > 0) {
			return true
		}
	}
	for _, ratio := range limitRangeRatio.FindAllStringSubmatch(message, -1) {
		name := corev1.ResourceName(ratio[1])
		maximum, err := strconv.ParseFloat(ratio[2], 64)
		request, limit := requests[name], limits[name]
		if err == nil && limit.AsApproximateFloat64() > maximum*request.AsApproximateFloat64() {
			return true
		}
	}
	return false
}
