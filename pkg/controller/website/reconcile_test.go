package website

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

func TestReconcile(t *testing.T) {
	const (
		createdDeployment = `Normal Created Created Deployment "kubia-website"`
		createdService    = `Normal Created Created Service "kubia-website-npsvc"`

		updatedDeployment = `Normal Updated Updated Deployment "kubia-website"`
		updatedService    = `Normal Updated Updated Service "kubia-website-npsvc"`
	)
	updatedConfigMap := `Normal Updated Updated ConfigMap "` + testConfigMap + `"`
	deleting := metav1.Now()

	for name, test := range map[string]struct {
		// site is the Website; nil is newWebsite().
		website *v1beta1.Website
		// converged starts with the children of newWebsite().
		converged bool
		// given changes the API server before the caches are synced, stale
		// afterwards.
		given, stale func(f *fixture)
		// refused is true when the API server rejects a write from the stale cache. All expectations
		// are then for the next reconciliation.
		refused bool

		wantWrites []string
		// wantEvents are prefixes.
		wantEvents []string
		// wantQuiet expects no request of any kind.
		wantQuiet bool
		then      func(f *fixture)
	}{
		"everything is created, the configuration before its pods": {
			wantWrites: []string{"create ConfigMap " + testConfigMap, "create Deployment kubia-website",
				"create Service kubia-website-npsvc"},
			wantEvents: []string{createdDeployment},
			then: func(f *fixture) {
				// A new Website can have no child yet, so only the claimed name is looked up.
				want := []string{"get deployments", "patch configmaps", "patch deployments", "patch services", "update websites"}
				if got := f.requests(); !slices.Equal(got, want) {
					f.Errorf("requests %q, want %q", got, want)
				}
			},
		},
		"nothing to do": {
			converged: true,
			wantQuiet: true,
		},
		"replicas edited by hand": {
			converged: true,
			given: func(f *fixture) {
				deployment := f.deployment()
				deployment.Spec.Replicas = ptr.To[int32](5)
				f.store(deployment)
			},
			wantWrites: []string{"update Deployment kubia-website"},
			wantEvents: []string{updatedDeployment},
			then: func(f *fixture) {
				if got := *f.deployment().Spec.Replicas; got != 1 {
					f.Errorf("replicas = %d", got)
				}
			},
		},
		"image edited by hand": {
			converged: true,
			given: func(f *fixture) {
				deployment := f.deployment()
				deployment.Spec.Template.Spec.Containers[0].Image = "example.com/evil:1"
				f.store(deployment)
			},
			wantWrites: []string{"update Deployment kubia-website"},
			wantEvents: []string{updatedDeployment},
			then: func(f *fixture) {
				if got := f.deployment().Spec.Template.Spec.Containers[0].Image; got != testInstallation.Nginx {
					f.Errorf("image = %q", got)
				}
			},
		},
		"configuration replaced by hand": {
			converged: true,
			given: func(f *fixture) {
				configMap := f.configMap()
				configMap.Data["nginx.conf"] = "autoindex on;"
				f.store(configMap)
			},
			wantEvents: []string{`Warning NameTaken ConfigMap "` + testConfigMap + `" is immutable and its content is not ` +
				`that of this Website`},
		},
		"label of the configuration edited by hand": {
			converged: true,
			given: func(f *fixture) {
				configMap := f.configMap()
				configMap.Labels["app"] = "mine"
				f.store(configMap)
			},
			wantWrites: []string{"update ConfigMap " + testConfigMap},
			wantEvents: []string{updatedConfigMap},
		},
		"label edited by hand": {
			converged: true,
			given: func(f *fixture) {
				service := f.service()
				service.Labels["app"] = "mine"
				f.store(service)
			},
			wantWrites: []string{"update Service kubia-website-npsvc"},
			wantEvents: []string{updatedService},
			then: func(f *fixture) {
				if got := f.service().Labels["app"]; got != "website" {
					f.Errorf("label app = %q", got)
				}
			},
		},
		"label that the informers select on removed by hand": {
			converged: true,
			given: func(f *fixture) {
				deployment := f.deployment()
				delete(deployment.Labels, "app.kubernetes.io/managed-by")
				f.store(deployment)
			},
			wantWrites: []string{"update Deployment kubia-website"},
			wantEvents: []string{updatedDeployment},
			then: func(f *fixture) {
				if got := f.deployment().Labels["app.kubernetes.io/managed-by"]; got != "website-controller" {
					f.Errorf("label managed-by = %q", got)
				}
			},
		},
		"container removed by hand": {
			converged: true,
			given: func(f *fixture) {
				deployment := f.deployment()
				deployment.Spec.Template.Spec.InitContainers = nil
				f.store(deployment)
			},
			wantWrites: []string{"update Deployment kubia-website"},
			wantEvents: []string{updatedDeployment},
			then: func(f *fixture) {
				if got := len(f.deployment().Spec.Template.Spec.InitContainers); got != 2 {
					f.Errorf("%d init containers", got)
				}
			},
		},
		"fields of other clients are kept": {
			converged: true,
			given: func(f *fixture) {
				deployment := f.deployment()
				deployment.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
				deployment.Spec.Template.Spec.Containers = append(deployment.Spec.Template.Spec.Containers,
					corev1.Container{Name: "sidecar"})
				deployment.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
				f.store(deployment)
				service := f.service()
				service.Spec.ClusterIP = "10.0.0.1"
				f.store(service)
			},
			wantQuiet: true,
		},
		"service deleted by hand": {
			converged: true,
			given: func(f *fixture) {
				f.observeWebsite()
				f.remove(f.service())
			},
			wantWrites: []string{"create Service kubia-website-npsvc"},
			wantEvents: []string{createdService},
		},
		"deployment deleted by hand": {
			converged:  true,
			given:      func(f *fixture) { f.remove(f.deployment()) },
			wantWrites: []string{"create Deployment kubia-website"},
			wantEvents: []string{createdDeployment},
		},
		"deployment on its way out is left to go": {
			converged: true,
			given: func(f *fixture) {
				deployment := f.deployment()
				deployment.DeletionTimestamp = &deleting
				deployment.Finalizers = []string{"foregroundDeletion"}
				deployment.Spec.Replicas = ptr.To[int32](9)
				f.store(deployment)
			},
			then: func(f *fixture) {
				if ready := meta.FindStatusCondition(f.website(testName).Status.Conditions, v1beta1.WebsiteReady); ready == nil ||
					!strings.Contains(ready.Message, "is being deleted") {
					f.Errorf("Ready is %+v", ready)
				}
			},
		},
		"scaled up": {
			website:    newWebsite(withReplicas(3)),
			converged:  true,
			wantWrites: []string{"update Deployment kubia-website", "create PodDisruptionBudget kubia-website"},
			wantEvents: []string{updatedDeployment},
			then: func(f *fixture) {
				if got := *f.deployment().Spec.Replicas; got != 3 {
					f.Errorf("replicas = %d", got)
				}
			},
		},
		"scaled to nothing": {
			website:    newWebsite(withReplicas(0)),
			converged:  true,
			wantWrites: []string{"update Deployment kubia-website"},
			wantEvents: []string{updatedDeployment},
			then: func(f *fixture) {
				if got := *f.deployment().Spec.Replicas; got != 0 {
					f.Errorf("replicas = %d", got)
				}
			},
		},
		"another repository": {
			website: newWebsite(func(website *v1beta1.Website) {
				website.Spec.Source.Git.Repository = "https://example.com/other.git"
			}),
			converged:  true,
			wantWrites: []string{"update Deployment kubia-website"},
			wantEvents: []string{updatedDeployment},
			then: func(f *fixture) {
				args := f.deployment().Spec.Template.Spec.InitContainers[1].Args
				if !slices.Contains(args, "--repository=https://example.com/other.git") {
					f.Errorf("args = %q", args)
				}
			},
		},

		"cache without the existing objects": {
			converged: true,
			stale: func(f *fixture) {
				for _, informer := range []interface{ Replace([]any, string) error }{
					f.childInformers.Apps().V1().Deployments().Informer().GetIndexer(),
					f.childInformers.Core().V1().Services().Informer().GetIndexer(),
					f.childInformers.Core().V1().ConfigMaps().Informer().GetIndexer(),
				} {
					if err := informer.Replace(nil, ""); err != nil {
						f.Fatal(err)
					}
				}
			},
		},
		"cache that shows a drift repaired since": {
			website:   newWebsite(withReplicas(2)),
			converged: true,
			stale: func(f *fixture) {
				// The previous reconciliation wrote, and its event is still missing.
				if problems := f.reconcile(testKey); len(problems) > 0 {
					f.Fatal(problems)
				}
				f.forgetHistory()
			},
		},
		"cache that shows a deployment deleted since": {
			website:    newWebsite(withReplicas(2)),
			converged:  true,
			stale:      func(f *fixture) { f.remove(f.deployment()) },
			refused:    true,
			wantWrites: []string{"create Deployment kubia-website"},
			wantEvents: []string{createdDeployment},
		},
		"cache that shows a deployment replaced by a foreign one since": {
			website:   newWebsite(withReplicas(2)),
			converged: true,
			stale: func(f *fixture) {
				f.remove(f.deployment())
				f.store(foreignDeployment())
			},
			refused:    true,
			wantEvents: []string{`Warning NameTaken Deployment "kubia-website" exists already and has no owner`},
		},

		"deployment name taken: nothing at all is written": {
			given:      func(f *fixture) { f.store(foreignDeployment()) },
			wantEvents: []string{`Warning NameTaken Deployment "kubia-website" exists already and has no owner`},
		},
		"deployment name taken by something that has a controller": {
			given: func(f *fixture) {
				f.store(shopDeployment())
			},
			wantEvents: []string{`Warning NameTaken Deployment "kubia-website" exists already and belongs to Shop "corner"`},
		},
		"deployment owned by us but not controlled": {
			given: func(f *fixture) {
				deployment := foreignDeployment()
				deployment.OwnerReferences = []metav1.OwnerReference{{APIVersion: "mycontroller.nevermosby.io/v1beta1",
					Kind: "Website", Name: testName, UID: "uid-of-kubia"}}
				f.store(deployment)
			},
			wantEvents: []string{`Warning NameTaken Deployment "kubia-website" exists already and has no owner`},
		},
		"deployment of a deleted website of the same name": {
			given: func(f *fixture) {
				deployment := foreignDeployment()
				deployment.OwnerReferences = []metav1.OwnerReference{{APIVersion: "mycontroller.nevermosby.io/v1beta1",
					Kind: "Website", Name: testName, UID: "an-earlier-one", Controller: ptr.To(true)}}
				f.store(deployment)
			},
		},
		"deployment of a deleted website of another name": {
			given: func(f *fixture) {
				deployment := foreignDeployment()
				deployment.OwnerReferences = []metav1.OwnerReference{{APIVersion: "mycontroller.nevermosby.io/v1beta1",
					Kind: "Website", Name: "gone", UID: "uid-of-gone", Controller: ptr.To(true)}}
				f.store(deployment)
			},
		},
		"service name taken": {
			given: func(f *fixture) { f.store(foreignService()) },
			// The API server rejects the last write.
			wantWrites: []string{"create ConfigMap " + testConfigMap, "create Deployment kubia-website",
				"create Service kubia-website-npsvc"},
			wantEvents: []string{createdDeployment,
				`Warning NameTaken Service "kubia-website-npsvc" exists already and has no owner`},
		},
		"configuration name taken: no pods run with it": {
			given: func(f *fixture) { f.store(foreignConfigMap()) },
			// The API server rejects it.
			wantWrites: []string{"create ConfigMap " + testConfigMap},
			wantEvents: []string{`Warning NameTaken ConfigMap "` + testConfigMap + `" exists already and has no owner`},
		},
		"configuration name taken later: pods stay, their service is repaired": {
			converged: true,
			given: func(f *fixture) {
				f.observeWebsite()
				f.remove(f.configMap())
				f.store(foreignConfigMap())
				f.remove(f.service())
			},
			wantWrites: []string{"create Service kubia-website-npsvc"},
			wantEvents: []string{createdService, `Warning NameTaken ConfigMap "` + testConfigMap + `"`},
		},

		"website that is being deleted": {
			website: newWebsite(func(website *v1beta1.Website) {
				website.DeletionTimestamp = &deleting
				website.Finalizers = []string{"foregroundDeletion"}
			}),
			wantQuiet: true,
		},
		"website with a source of another kind": {
			website: newWebsite(func(website *v1beta1.Website) { website.Spec.Source.Git = nil }),
			wantEvents: []string{`Warning SpecInvalid the Deployment of Website "kubia" cannot be built: spec.source ` +
				`has no git, ` +
				`and this version of website-controller knows no other kind of source: update website-controller`},
		},
		"website that git would read as an option": {
			website: newWebsite(func(website *v1beta1.Website) {
				website.Spec.Source.Git.Repository = "--upload-pack=id"
			}),
			wantEvents: []string{`Warning SpecInvalid the Deployment of Website "kubia" cannot be built: ` +
				`spec.source.git.repository "--upload-pack=id" begins with a hyphen`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			website := test.website
			if website == nil {
				website = newWebsite()
			}
			if test.converged {
				f.addWebsite(newWebsite())
				f.converge(newWebsite())
				f.changeWebsite(website)
			} else {
				f.addWebsite(website)
			}
			if test.given != nil {
				test.given(f)
			}
			f.syncCaches()
			f.forgetHistory()
			if test.stale != nil {
				test.stale(f)
			}

			if test.refused {
				if got := f.work(testKey); got != problem.Conflict {
					t.Errorf("result %v, want a conflict", got)
				}
				if got := f.events(); len(got) > 0 {
					t.Errorf("a conflict was reported: %q", got)
				}
				f.refreshWebsites()
				f.syncCaches()
				f.forgetHistory()
			}

			cached := f.snapshot()
			f.reconcile(testKey)

			if got := f.childWrites(); !slices.Equal(got, test.wantWrites) {
				t.Errorf("writes:\n got %q\nwant %q", got, test.wantWrites)
			}
			if got := f.events(); !slices.EqualFunc(got, test.wantEvents, strings.HasPrefix) {
				t.Errorf("events:\n got %q\nwant %q", got, test.wantEvents)
			}
			if test.wantQuiet {
				if requests := f.requests(); len(requests) > 0 {
					t.Errorf("requests although there was nothing to do: %q", requests)
				}
			}
			if after := f.snapshot(); !reflect.DeepEqual(cached, after) {
				t.Error("the reconciliation changed objects in the caches")
			}
			if test.then != nil {
				test.then(f)
			}

			// A second reconciliation with fresh caches always has nothing left to do.
			f.refreshWebsites()
			f.syncCaches()
			f.forgetHistory()
			f.reconcile(testKey)
			if got := f.childWrites(); len(got) > 0 {
				t.Errorf("the next reconciliation wrote again: %q", got)
			}
			if got := f.events(); len(got) > 0 {
				t.Errorf("the next reconciliation reported again: %q", got)
			}
		})
	}
}
