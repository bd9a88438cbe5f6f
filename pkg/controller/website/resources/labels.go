package resources

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

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

	// LabelController names the Website on every child and pod.
	LabelController = "controller"

	labelApp = "app"
)

// Kind is the kind of the owner of every child.
const Kind = "Website"

// selectorLabels are what the Deployment and the Service select pods by. A
// Deployment's selector is immutable, so nothing may ever be added here.
func selectorLabels(website *v1beta1.Website) map[string]string {
	return map[string]string{
		labelApp:        "website-nginx",
		LabelController: website.Name,
	}
}

// Selector selects the pods of a Website, in the form of a query parameter.
func Selector(website *v1beta1.Website) string {
	return labels.SelectorFromSet(selectorLabels(website)).String()
}

// recommendedLabels are the labels that tools of the ecosystem show and group
// by.
func recommendedLabels(website *v1beta1.Website) map[string]string {
	return map[string]string{
		labelName:      "website",
		labelInstance:  website.Name,
		labelComponent: "web-server",
		LabelManagedBy: ManagedBy,
	}
}

// podLabels are the labels of the Deployment and of its pods.
func podLabels(website *v1beta1.Website) map[string]string {
	labels := recommendedLabels(website)
	maps.Copy(labels, selectorLabels(website))
	return labels
}

// supportLabels are the labels of the children that are not pods.
func supportLabels(website *v1beta1.Website) map[string]string {
	labels := recommendedLabels(website)
	labels[labelApp] = "website"
	labels[LabelController] = website.Name
	return labels
}

// ownerReference makes the Website the controller of a child. Blocking its
// deletion means that a foreground deletion of the Website returns only after
// the site is really gone.
func ownerReference(website *v1beta1.Website) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1beta1.GroupVersion.String()).
		WithKind(Kind).
		WithName(website.Name).
		WithUID(website.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}
