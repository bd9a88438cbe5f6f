package children

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// quietPeriod is how long another client must not have written a Deployment that was taken
// over from it before, until it is taken over again.
const quietPeriod = 5 * time.Minute

// Takeover makes Deployments of another controller, which belong to Websites already, ones
// that can be applied: server-side apply keeps what other clients have set, and rejects a
// container that would be in two lists.
type Takeover struct {
	deployments *Deployments
	kube        kubernetes.Interface
}

// IsFormer reports whether a pod template is that of the controller before this one, which
// ran git-sync as an ordinary container. There need not be a Deployment.
func IsFormer(deployment *appsv1.Deployment) bool {
	return deployment != nil && slices.ContainsFunc(deployment.Spec.Template.Spec.Containers, func(container corev1.Container) bool {
		return container.Name == resources.GitSyncContainer
	})
}

// ServingPods returns the ready pods of a Deployment by the API server: the informers do
// not see those of another controller.
func (t *Takeover) ServingPods(ctx context.Context, deployment *appsv1.Deployment, isServing func(*corev1.Pod) bool) ([]corev1.Pod, *problem.Problem) {
	list, err := t.kube.CoreV1().Pods(deployment.Namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(deployment.Spec.Selector)})
	if err != nil {
		return nil, problem.ClassifyOther(fmt.Errorf("listing the pods of Deployment %q before it is taken over: %w", deployment.Name, err))
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !isServing(&pod) }), nil
}

// Prepare makes the controller the manager of what other clients have set in the pod
// template of a Deployment, so that the next apply replaces all of it at once. The pods are
// left as they are. Another client that writes the pod template again afterwards is not
// answered at once: two controllers would replace each other's pods all the time.
func (t *Takeover) Prepare(ctx context.Context, website *v1beta1.Website, name string, now time.Time) (*appsv1.Deployment, *problem.Problem) {
	client := t.kube.AppsV1().Deployments(website.Namespace)
	deployment, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, problem.ClassifyOther(fmt.Errorf("reading Deployment %q before it is taken over: %w", name, err))
	}
	if !metav1.IsControlledBy(deployment, website) {
		return nil, problem.Classify(apierrors.NewConflict(appsv1.Resource("deployments"), name, fmt.Errorf("it has another owner now")))
	}
	managers, last := templateManagers(deployment)
	if WasApplied(deployment) && now.Sub(last) < quietPeriod {
		return nil, problem.ConflictingManager(string(deployment.UID), "Deployment %q is written by another controller as well (field manager %q); stop that one, "+
			"then the Deployment is taken over %v after its last write", name, sets.List(managers), quietPeriod)
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(deployment, managers, FieldManager)
	if err != nil {
		return nil, problem.Classify(fmt.Errorf("migrating the managed fields of Deployment %q: %w", name, err))
	}
	if patch != nil {
		if deployment, err = client.Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager}); err != nil {
			return nil, problem.Classify(fmt.Errorf("migrating the managed fields of Deployment %q: %w", name, err))
		}
	}
	t.deployments.remember(deployment)
	return deployment, nil
}

// templateManagers returns the other clients that have set something in the pods of a
// Deployment by an update, and when the last of them did so.
func templateManagers(deployment *appsv1.Deployment) (managers sets.Set[string], last time.Time) {
	managers = sets.New[string]()
	for _, entry := range deployment.ManagedFields {
		if entry.Operation != metav1.ManagedFieldsOperationUpdate || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec struct {
				Template struct {
					Spec json.RawMessage `json:"f:spec"`
				} `json:"f:template"`
			} `json:"f:spec"`
		}
		if err := json.Unmarshal([]byte(entry.FieldsV1.GetRawString()), &fields); err != nil || fields.Spec.Template.Spec == nil {
			continue
		}
		managers.Insert(entry.Manager)
		if entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return managers, last
}
