package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// fit removes the conditions of other clients from a status if the API server would reject it as too
// large. The conditions of this package alone are small enough.
func fit(status *v1beta1.WebsiteStatus) {
	if validation.StatusFits(status) {
		return
	}
	status.Conditions = ownConditions(status.Conditions, func(kind string) bool {
		return slices.ContainsFunc(conditions, func(declared declaration) bool { return declared.kind == kind })
	})
	for i := range status.Hosts {
		host := &status.Hosts[i]
		host.Conditions = ownConditions(host.Conditions, func(kind string) bool { return kind == v1beta1.HostRouted })
	}
}

// ownConditions returns the conditions of some types. A condition that stays as reported may have
// been written by another client.
func ownConditions(all []metav1.Condition, isOwn func(kind string) bool) []metav1.Condition {
	own := slices.DeleteFunc(all, func(condition metav1.Condition) bool { return !isOwn(condition.Type) })
	for i := range own {
		own[i].Message = problem.ShortenTo(own[i].Message, maxHostMessage)
	}
	return own
}
