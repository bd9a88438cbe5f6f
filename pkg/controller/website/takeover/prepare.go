package takeover

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// quietPeriod is the time without writes by another client after which a Deployment is taken over
// from it once more.
const quietPeriod = 5 * time.Minute

// Prepare makes the controller the manager of fields that other clients have set in the pod template
// of a Deployment, so that the next apply replaces all of them at the same time. The pods stay as
// they are. If another client writes the pod template again, the controller waits before it does the
// same: otherwise two controllers would replace each other's pods all the time.
func (t *Takeover) Prepare(ctx context.Context, input *status.Input) *problem.Problem {
	website, name := input.Website, input.Deployment.Name
	client := t.kube.AppsV1().Deployments(website.Namespace)
	deployment, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return problem.ClassifyOther(fmt.Errorf("reading Deployment %q before it is taken over: %w", name, err))
	}
	if !metav1.IsControlledBy(deployment, website) {
		return problem.Classify(apierrors.NewConflict(appsv1.Resource("deployments"), name,
			fmt.Errorf("it has another owner now")))
	}
	managers, last := templateManagers(deployment)
	if cached.WasApplied(deployment) && input.Now.Sub(last) < quietPeriod {
		return problem.ConflictingManager(string(deployment.UID),
			"Deployment %q is written by another controller as well (field manager %q); stop that one, "+
				"then the Deployment is taken over %v after its last write", name, sets.List(managers), quietPeriod)
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(deployment, managers, cached.FieldManager)
	if err != nil {
		return problem.Classify(fmt.Errorf("migrating the managed fields of Deployment %q: %w", name, err))
	}
	if patch != nil {
		if deployment, err = client.Patch(ctx, name, types.JSONPatchType, patch,
			metav1.PatchOptions{FieldManager: cached.FieldManager}); err != nil {
			return problem.Classify(fmt.Errorf("migrating the managed fields of Deployment %q: %w", name, err))
		}
	}
	input.Deployment = t.children.Deployments.Remember(deployment)
	return nil
}

// podSpec is the path of the pod template without its metadata.
var podSpec = fieldpath.MakePathOrDie("spec", "template", "spec")

// templateManagers returns the other clients that manage fields of the pod template of a Deployment
// by updates, and the time of their last write.
func templateManagers(deployment *appsv1.Deployment) (managers sets.Set[string], last time.Time) {
	managers = sets.New[string]()
	for _, entry := range deployment.ManagedFields {
		if entry.Operation != metav1.ManagedFieldsOperationUpdate || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		fields := &fieldpath.Set{}
		if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			continue
		}
		for _, element := range podSpec {
			fields = fields.WithPrefix(element)
		}
		if fields.Empty() {
			continue
		}
		managers.Insert(entry.Manager)
		if entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return managers, last
}
