package resources

import (
	"maps"

	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// LabelManagedBy is the label by which the controller's informers find the
	// children among all objects of a cluster.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy on every child.
	ManagedBy = "website-controller"

	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"

	// LabelController names the Website on every child and pod. The original controller sets it too,
	// like labelApp: Services and NetworkPolicies of users select by them. Keys without a prefix
	// belong to users, so no selector of a new object has them.
	LabelController = "controller"
	// LabelDeployment names the Deployment on every pod.
	LabelDeployment = api.LabelDeployment

	labelApp = "app"
	// podApp is the value of labelApp on the pods.
	podApp = "website-nginx"
)

// Kind is the kind of the owner of every child.
const Kind = "Website"

// PodSelector returns the labels that select the pods of a Website's Deployment, and no pods of
// another one.
func PodSelector(website *v1beta1.Website) map[string]string {
	return api.PodSelectorLabels(DeploymentName(website))
}

// LegacyPodSelector returns the labels by which the original controller selects pods.
func LegacyPodSelector(website *v1beta1.Website) map[string]string {
	return map[string]string{labelApp: podApp, LabelController: website.Name}
}

// PodSelectorKeys are the keys of the labels by which pods may be selected.
var PodSelectorKeys = []string{labelApp, LabelController, LabelDeployment}

// recommendedLabels are the labels that tools of the ecosystem show and group by.
func recommendedLabels(website *v1beta1.Website) map[string]string {
	return map[string]string{
		labelName:      "website",
		labelInstance:  website.Name,
		labelComponent: "web-server",
		LabelManagedBy: ManagedBy,
	}
}

// PodLabels are the labels of the Deployment and of its pods.
func PodLabels(website *v1beta1.Website) map[string]string {
	labels := recommendedLabels(website)
	maps.Copy(labels, LegacyPodSelector(website))
	maps.Copy(labels, PodSelector(website))
	return labels
}

// supportLabels are the labels of the children that are not pods.
func supportLabels(website *v1beta1.Website) map[string]string {
	labels := recommendedLabels(website)
	labels[labelApp] = "website"
	labels[LabelController] = website.Name
	return labels
}

// ownerReference makes the Website the controller of a child. Because it blocks the deletion of its
// owner, a foreground deletion of the Website ends only after the children are gone.
func ownerReference(website *v1beta1.Website) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1beta1.GroupVersion.String()).
		WithKind(Kind).
		WithName(website.Name).
		WithUID(website.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}
