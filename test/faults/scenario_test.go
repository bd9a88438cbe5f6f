package faults

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// scenario is a change by users and the expected response of the controller.
type scenario struct {
	name string
	// listing sets wire.listing. Then only the calls of informers meet faults: all others equal the calls
	// of the scenario with streaming.
	listing bool
	// observed makes the controllers probe pods for their commit.
	observed bool
	// again means that other scenarios make the same calls at other moments, so that one fault of each
	// kind is enough: before and after a call, with and without a crash.
	again bool
	// before creates the objects that exist when the controller under test starts, while another
	// controller runs.
	before func(context.Context, world) error
	// do makes the changes of users while the controller runs.
	do func(context.Context, world) error
	// until returns an error until the controller has responded.
	until func(context.Context, world) error
}

// world is a namespace.
type world struct {
	namespace string
	// remote is the repository of its pods; nil if pods are not probed.
	remote *remote
	// observer spares requests that wait for a state; nil for a namespace of its own.
	observer *observer
}

// key returns the controllers' key of a Website of the namespace.
func (w world) key(name string) string { return w.namespace + "/" + name }

func (w world) create(ctx context.Context, name string, tweaks ...func(*v1beta1.Website)) error {
	website := framework.NewWebsite(w.namespace, name, append([]func(*v1beta1.Website){
		framework.WithReplicas(1), framework.WithRepository("https://example.com/" + name + ".git"),
		func(w *v1beta1.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeNodePort },
	}, tweaks...)...)
	_, err := websites.WebsiteV1beta1().Websites(w.namespace).Create(ctx, website, metav1.CreateOptions{})
	return err
}

func (w world) get(ctx context.Context, name string) (*v1beta1.Website, error) {
	return websites.WebsiteV1beta1().Websites(w.namespace).Get(ctx, name, metav1.GetOptions{})
}

// patch changes a Website as kubectl patch --type=merge does.
func (w world) patch(ctx context.Context, name, patch string) error {
	_, err := websites.WebsiteV1beta1().Websites(w.namespace).Patch(ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	return err
}

func (w world) deployment(ctx context.Context, name string) (*appsv1.Deployment, error) {
	return kube.AppsV1().Deployments(w.namespace).Get(ctx, name, metav1.GetOptions{})
}

// configMap is the name of the ConfigMap that new pods of kubia mount.
func (w world) configMap(ctx context.Context) (string, error) {
	return framework.NginxConfigMap(ctx, kube, w.namespace, kubia)
}

// settled returns an error until a Website has the specified number of current pods, and its status
// reports them. The servers are asked once the caches show it.
func (w world) settled(ctx context.Context, name string) error {
	if w.observer != nil {
		if err := settled(ctx, name, cachedWorld{w}); err != nil {
			return err
		}
	}
	return settled(ctx, name, w)
}

// reader reads the objects of a namespace.
type reader interface {
	get(ctx context.Context, name string) (*v1beta1.Website, error)
	deployment(ctx context.Context, name string) (*appsv1.Deployment, error)
}

func settled(ctx context.Context, name string, r reader) error {
	site, err := r.get(ctx, name)
	if err != nil {
		return err
	}
	status, replicas := site.Status, *site.Spec.Replicas
	if status.ObservedGeneration != site.Generation || status.Replicas != replicas ||
		status.UpdatedReplicas != replicas || status.ReadyReplicas != replicas || status.AvailableReplicas != replicas {
		return fmt.Errorf("Website %s (generation %d, %d replicas): status %+v", name, site.Generation, replicas, status)
	}
	if !meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady) ||
		meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteProgressing) {
		return fmt.Errorf("Website %s: conditions %+v", name, status.Conditions)
	}
	deployment, err := r.deployment(ctx, site.Spec.DeploymentName)
	if err != nil {
		return err
	}
	pods := deployment.Status
	if *deployment.Spec.Replicas != replicas || pods.ObservedGeneration != deployment.Generation ||
		pods.Replicas != replicas || pods.UpdatedReplicas != replicas || pods.AvailableReplicas != replicas {
		return fmt.Errorf("Deployment of Website %s (generation %d, %d replicas): status %+v", name, deployment.Generation,
			*deployment.Spec.Replicas, pods)
	}
	return nil
}

// kubia is the Website of most scenarios.
const kubia = "kubia"

func createKubia(ctx context.Context, w world) error { return w.create(ctx, kubia) }

func kubiaSettled(ctx context.Context, w world) error { return w.settled(ctx, kubia) }

// servedKubia is a scenario.before.
func servedKubia(ctx context.Context, w world) error {
	if err := createKubia(ctx, w); err != nil {
		return err
	}
	return waitUntil(ctx, func(ctx context.Context) error { return kubiaSettled(ctx, w) })
}

func patchKubia(patch string) func(context.Context, world) error {
	return func(ctx context.Context, w world) error { return w.patch(ctx, kubia, patch) }
}

// scenarios are played with every fault.
var scenarios = []scenario{
	{name: "create", do: createKubia, until: kubiaSettled},
	{name: "create without streaming lists", listing: true, do: createKubia, until: kubiaSettled},
	{
		name: "scale", before: servedKubia,
		do:    patchKubia(`{"spec":{"replicas":2}}`),
		until: kubiaSettled,
	},
	{
		// One pod needs no PodDisruptionBudget.
		name: "scale down",
		before: func(ctx context.Context, w world) error {
			if err := w.create(ctx, kubia, func(site *v1beta1.Website) { site.Spec.Replicas = ptr.To[int32](2) }); err != nil {
				return err
			}
			return waitUntil(ctx, func(ctx context.Context) error { return kubiaSettled(ctx, w) })
		},
		do:    patchKubia(`{"spec":{"replicas":1}}`),
		until: kubiaSettled,
	},
	{
		name: "change", again: true, before: servedKubia,
		do:    patchKubia(`{"spec":{"source":{"git":{"ref":{"branch":"live"}}},"serving":{"fallback":"SPA"}}}`),
		until: kubiaSettled,
	},
	{
		// The old ReplicaSet that refers to the former configuration is deleted.
		name: "configuration unused",
		before: func(ctx context.Context, w world) error {
			if err := servedKubia(ctx, w); err != nil {
				return err
			}
			if err := w.patch(ctx, kubia, `{"spec":{"source":{"path":"public"}}}`); err != nil {
				return err
			}
			return waitUntil(ctx, func(ctx context.Context) error { return kubiaSettled(ctx, w) })
		},
		do: func(ctx context.Context, w world) error {
			replicaSets, err := kube.AppsV1().ReplicaSets(w.namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, replicaSet := range replicaSets.Items {
				if *replicaSet.Spec.Replicas == 0 {
					err = errors.Join(err, kube.AppsV1().ReplicaSets(w.namespace).Delete(ctx, replicaSet.Name, metav1.DeleteOptions{}))
				}
			}
			return err
		},
		until: func(ctx context.Context, w world) error {
			if err := kubiaSettled(ctx, w); err != nil {
				return err
			}
			current, err := w.configMap(ctx)
			if err != nil {
				return err
			}
			configMaps, err := framework.NginxConfigMaps(ctx, kube, w.namespace, kubia)
			if err == nil && (len(configMaps) != 1 || configMaps[0] != current) {
				err = fmt.Errorf("there are the ConfigMaps %q", configMaps)
			}
			return err
		},
	},
	{
		name: "children deleted", before: servedKubia,
		do: func(ctx context.Context, w world) error {
			configMap, err := w.configMap(ctx)
			if err != nil {
				return err
			}
			return errors.Join(
				kube.CoreV1().ConfigMaps(w.namespace).Delete(ctx, configMap, metav1.DeleteOptions{}),
				kube.CoreV1().Services(w.namespace).Delete(ctx, kubia+"-npsvc", metav1.DeleteOptions{}),
				kube.AppsV1().Deployments(w.namespace).Delete(ctx, kubia, metav1.DeleteOptions{}))
		},
		until: func(ctx context.Context, w world) error {
			if err := kubiaSettled(ctx, w); err != nil {
				return err
			}
			name, err := w.configMap(ctx)
			if err != nil {
				return err
			}
			_, configMap := kube.CoreV1().ConfigMaps(w.namespace).Get(ctx, name, metav1.GetOptions{})
			_, service := kube.CoreV1().Services(w.namespace).Get(ctx, kubia+"-npsvc", metav1.GetOptions{})
			return errors.Join(configMap, service)
		},
	},
	{
		// The labels that the informers select on are edited as well.
		name: "children edited", again: true, before: servedKubia,
		do: func(ctx context.Context, w world) error {
			_, deployment := kube.AppsV1().Deployments(w.namespace).Patch(
				ctx, kubia, types.MergePatchType, []byte(`{"metadata":{"labels":{"app.kubernetes.io/name":"another"}}}`),
				metav1.PatchOptions{FieldManager: "another"},
			)
			_, service := kube.CoreV1().Services(w.namespace).Patch(ctx, kubia+"-npsvc", types.MergePatchType,
				[]byte(`{"spec":{"selector":{"controller":"another"}}}`), metav1.PatchOptions{FieldManager: "another"})
			name, err := w.configMap(ctx)
			if err != nil {
				return err
			}
			_, configMap := kube.CoreV1().ConfigMaps(w.namespace).Patch(
				ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"another"}}}`),
				metav1.PatchOptions{FieldManager: "another"},
			)
			return errors.Join(deployment, service, configMap)
		},
		until: kubiaSettled,
	},
	{
		name: "replaced", before: servedKubia,
		do: func(ctx context.Context, w world) error {
			if err := websites.WebsiteV1beta1().Websites(w.namespace).Delete(ctx, kubia, metav1.DeleteOptions{}); err != nil {
				return err
			}
			return w.create(ctx, kubia)
		},
		until: kubiaSettled,
	},
	{
		name: "name freed", again: true,
		before: func(ctx context.Context, w world) error {
			if err := w.create(ctx, "first", framework.WithDeployment("shared")); err != nil {
				return err
			}
			if err := waitUntil(ctx, func(ctx context.Context) error { return w.settled(ctx, "first") }); err != nil {
				return err
			}
			second := framework.NewWebsite(w.namespace, "second", framework.WithDeployment("shared"), framework.WithReplicas(1),
				framework.WithRepository("https://example.com/second.git"))
			if err := framework.StoreUnchecked(ctx, second); err != nil {
				return err
			}
			return waitUntil(ctx, func(ctx context.Context) error {
				second, err := w.get(ctx, "second")
				if err == nil && second.Status.ObservedGeneration != second.Generation {
					err = fmt.Errorf("the second Website has not been reconciled: %+v", second.Status)
				}
				return err
			})
		},
		do: func(ctx context.Context, w world) error {
			return websites.WebsiteV1beta1().Websites(w.namespace).Delete(ctx, "first", metav1.DeleteOptions{})
		},
		until: func(ctx context.Context, w world) error { return w.settled(ctx, "second") },
	},
	{
		name: "taken over", again: true, before: originalKubia,
		do:    ownOriginal,
		until: takenOver,
	},
	{
		name: "suspend", observed: true, again: true, before: publishedKubia,
		do:    patchKubia(`{"spec":{"suspend":true}}`),
		until: kubiaSuspended,
	},
	{
		name: "resume", observed: true, again: true,
		before: func(ctx context.Context, w world) error {
			if err := publishedKubia(ctx, w); err != nil {
				return err
			}
			if err := w.patch(ctx, kubia, `{"spec":{"suspend":true}}`); err != nil {
				return err
			}
			return waitUntil(ctx, func(ctx context.Context) error { return kubiaSuspended(ctx, w) })
		},
		do:    patchKubia(`{"spec":{"suspend":false}}`),
		until: func(ctx context.Context, w world) error { return w.publishes(ctx, kubia, commitB) },
	},
	{
		name: "deleted", before: servedKubia,
		do: func(ctx context.Context, w world) error {
			return websites.WebsiteV1beta1().Websites(w.namespace).Delete(ctx, kubia, metav1.DeleteOptions{})
		},
		until: func(ctx context.Context, w world) error {
			if _, err := w.deployment(ctx, kubia); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the Deployment is still there: %w", err)
			}
			return nil
		},
	},
}
