package children

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// Deployments reads and writes the Deployments of Websites.
type Deployments struct {
	*Kind[*appsv1.Deployment, *cached.Deployment, *appsv1ac.DeploymentApplyConfiguration]
}

func newDeployments(kube kubernetes.Interface, informers kubeinformers.SharedInformerFactory,
	owners Owners) *Deployments {
	return &Deployments{newKind("Deployment", owners, informers.Apps().V1().Deployments().Informer().GetStore(),
		kube.AppsV1().Deployments, cached.Deployments, cached.OfDeployment)}
}

// ApplyRest is Apply for a Deployment whose pods have to stay as they are: it applies all fields
// except the pod template. The template is read from the API server, and only if another field
// changes.
func (d *Deployments) ApplyRest(ctx context.Context, website *v1beta1.Website, child *cached.Deployment,
	desired *appsv1ac.DeploymentApplyConfiguration) (*cached.Deployment, Operation, *problem.Problem) {
	before, p := d.Applied(child)
	if p != nil {
		return child, Unchanged, p
	}
	after, p := d.Desired(desired)
	if p != nil || before.Rest == after.Rest {
		return child, Unchanged, p
	}
	live, err := d.client(website.Namespace).Get(ctx, child.Name, metav1.GetOptions{})
	if err == nil && live.UID != child.UID {
		err = apierrors.NewConflict(appsv1.Resource("deployments"), child.Name, fmt.Errorf("it was replaced"))
	}
	if err != nil {
		return child, Unchanged, problem.ClassifyOther(fmt.Errorf("reading %s %q, whose pod template is to stay: %w", d.name,
			child.Name, err))
	}
	applied, err := d.Extract(live, cached.FieldManager)
	if err != nil {
		return child, Unchanged, problem.Classify(fmt.Errorf("extracting the applied fields of %s %q: %w", d.name,
			child.Name, err))
	}
	desired.Spec.Template = nil
	if applied.Spec != nil {
		desired.Spec.Template = applied.Spec.Template
	}
	return d.Apply(ctx, website, d.Remember(live), desired)
}
