package website

import (
	"math"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/rollout"
)

// upgrade is a controller with new images and two Websites, which may roll out one at a time.
type upgrade struct {
	*fixture
	older, younger *v1beta1.Website
}

func newUpgrade(t *testing.T) *upgrade {
	t.Helper()
	website := func(name string, age time.Duration) *v1beta1.Website {
		return newWebsite(withName(name), func(website *v1beta1.Website) {
			website.Spec.DeploymentName, website.Generation = name, 1
			website.CreationTimestamp = metav1.NewTime(testNow.Add(-age))
		})
	}
	u := &upgrade{older: website("older", time.Hour), younger: website("younger", time.Minute)}
	u.fixture = newFixture(t, u.older, u.younger)
	u.generations = true
	for _, website := range []*v1beta1.Website{u.older, u.younger} {
		u.converge(website)
		u.complete(website)
		u.converge(website)
	}
	u.controller.reconciler.installation.Nginx = "example.com/nginx:2"
	u.controller.reconciler.rollouts = rollout.NewLimit(1, u.controller.reconciler.clock, u.controller.queue.Enqueue)
	u.controller.reconciler.rollouts.Start([]*v1beta1.Website{u.older, u.younger},
		rollout.InCache(u.controller.reconciler.children.Deployments))
	u.controller.queue.Running.Store(true)
	return u
}

// complete ends the rollout of a Website.
func (u *upgrade) complete(website *v1beta1.Website) {
	u.Helper()
	edit(u.fixture, website.Name, func(deployment *appsv1.Deployment) {
		n := *deployment.Spec.Replicas
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: deployment.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue,
				Reason: "NewReplicaSetAvailable"}},
		}
	})
	u.syncCaches()
}

// reconcileAndSee reconciles a Website, and updates the caches.
func (u *upgrade) reconcileAndSee(website *v1beta1.Website) {
	u.Helper()
	if problems := u.reconcile(keyOf(website)); len(problems) > 0 {
		u.Fatal(problems)
	}
	u.syncCaches()
	u.refreshWebsites()
}

func (u *upgrade) image(website *v1beta1.Website) string {
	u.Helper()
	return must[*appsv1.Deployment](u.fixture, website.Name).Spec.Template.Spec.Containers[0].Image
}

func (u *upgrade) wantImages(older, younger string) {
	u.Helper()
	if gotOlder, gotYounger := u.image(u.older), u.image(u.younger); gotOlder != "example.com/nginx:"+older ||
		gotYounger != "example.com/nginx:"+younger {
		u.Fatalf("the Deployments have %s and %s, want tags %s and %s", gotOlder, gotYounger, older, younger)
	}
}

// change changes a Website as its user.
func (u *upgrade) change(website *v1beta1.Website, tweak func(*v1beta1.Website)) {
	u.Helper()
	changed := u.website(website.Name).DeepCopy()
	changed.Generation++
	tweak(changed)
	if err := u.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), changed,
		changed.Namespace); err != nil {
		u.Fatal(err)
	}
	u.cacheWebsite(changed)
}

func TestRolloutsOfAnUpgradeAreLimited(t *testing.T) {
	u := newUpgrade(t)
	u.reconcileAndSee(u.younger)
	u.wantImages("1", "1")
	progressing := meta.FindStatusCondition(u.website(u.younger.Name).Status.Conditions, v1beta1.WebsiteProgressing)
	if progressing.Status != metav1.ConditionFalse || progressing.Reason != v1beta1.WebsiteReasonRolloutPending {
		t.Errorf("condition %+v, want that the rollout is pending", progressing)
	}
	if !meta.IsStatusConditionTrue(u.website(u.younger.Name).Status.Conditions, v1beta1.WebsiteReady) {
		t.Error("a Website that waits is not Ready")
	}
	u.reconcileAndSee(u.older)
	u.wantImages("2", "1")
	u.reconcileAndSee(u.younger)
	u.wantImages("2", "1")

	u.complete(u.older)
	u.reconcileAndSee(u.older)
	woken := map[string]bool{}
	for u.controller.queue.Len() > 0 {
		key, _ := u.controller.queue.Get()
		woken[key.Name] = true
		u.controller.queue.Done(key)
	}
	if !woken[u.younger.Name] {
		t.Errorf("woken: %v, want the one that waits", woken)
	}
	u.reconcileAndSee(u.younger)
	u.wantImages("2", "2")
	u.complete(u.younger)
	u.reconcileAndSee(u.younger)
	u.forgetHistory()
	u.reconcileAndSee(u.older)
	u.reconcileAndSee(u.younger)
	if writes := u.writes(); len(writes) > 0 {
		t.Errorf("in the end there are writes: %q", writes)
	}
}

// TestWaitingWebsiteIsReconciled makes all changes to a waiting Website except the replacement of its
// pods.
func TestWaitingWebsiteIsReconciled(t *testing.T) {
	u := newUpgrade(t)
	u.reconcileAndSee(u.older)
	u.reconcileAndSee(u.younger)
	configMaps := len(u.configMapNames())

	edit(u.fixture, u.younger.Name, func(deployment *appsv1.Deployment) { deployment.Labels["app"] = "mine" })
	edit(u.fixture, u.younger.Name+"-npsvc", func(service *corev1.Service) { service.Labels["app"] = "mine" })
	u.syncCaches()
	u.reconcileAndSee(u.younger)
	if got := must[*appsv1.Deployment](u.fixture, u.younger.Name).Labels["app"]; got != "website-nginx" {
		t.Errorf("label of the Deployment = %q", got)
	}
	if got := must[*corev1.Service](u.fixture, u.younger.Name+"-npsvc").Labels["app"]; got != "website" {
		t.Errorf("label of the Service = %q", got)
	}
	u.change(u.younger, withReplicas(3))
	u.reconcileAndSee(u.younger)
	if got := must[*appsv1.Deployment](u.fixture, u.younger.Name).Spec.Replicas; *got != 3 {
		t.Errorf("replicas = %d", *got)
	}
	u.wantImages("2", "1")
	if got := len(u.configMapNames()); got != configMaps {
		t.Errorf("%d ConfigMaps, want %d: the ConfigMap of the pending pod template is not needed yet", got, configMaps)
	}

	u.change(u.younger, func(website *v1beta1.Website) {
		website.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "live"}
	})
	u.reconcileAndSee(u.younger)
	u.wantImages("2", "2")
	if mark := must[*appsv1.Deployment](u.fixture, u.younger.Name).
		Annotations[cached.LimitedRolloutAnnotation]; mark != "" {
		t.Errorf("the rollout that the user requested is marked %q", mark)
	}
}

// TestRolloutsInProgressAreKnownAtTheStart begins with a rollout of an earlier controller.
func TestRolloutsInProgressAreKnownAtTheStart(t *testing.T) {
	u := newUpgrade(t)
	u.reconcileAndSee(u.older)
	u.controller.reconciler.rollouts = rollout.NewLimit(1, u.controller.reconciler.clock, u.controller.queue.Enqueue)
	u.controller.reconciler.rollouts.Start([]*v1beta1.Website{u.older, u.younger},
		rollout.InCache(u.controller.reconciler.children.Deployments))
	u.reconcileAndSee(u.younger)
	u.wantImages("2", "1")
	u.change(u.older, withReplicas(2))
	u.reconcileAndSee(u.older)
	if !rollout.InProgress(u.controller.reconciler.children.Deployments.Held(u.older, resources.DeploymentName(u.older))) {
		t.Error("scaling has ended a limited rollout")
	}
}

// TestProgressDeadline: another client can neither raise it nor set a minReadySeconds with which the
// API server rejects it.
func TestProgressDeadline(t *testing.T) {
	for name, test := range map[string]struct{ deadline, ready, wantReady int32 }{
		"raised":                     {deadline: math.MaxInt32},
		"raised, with ready seconds": {deadline: math.MaxInt32, ready: math.MaxInt32 - 1},
		"with a few ready seconds":   {deadline: 700, ready: 10, wantReady: 10},
	} {
		f := newFixture(t, newWebsite())
		f.converge(newWebsite())
		edit(f, testDeployment, func(d *appsv1.Deployment) {
			d.Spec.ProgressDeadlineSeconds, d.Spec.MinReadySeconds = &test.deadline, test.ready
		})
		f.syncCaches()
		f.converge(newWebsite())
		if spec := f.deployment().Spec; *spec.ProgressDeadlineSeconds != resources.ProgressDeadlineSeconds ||
			spec.MinReadySeconds != test.wantReady {
			t.Errorf("%s: the deadline is %d seconds, minReadySeconds %d, want %d", name, *spec.ProgressDeadlineSeconds,
				spec.MinReadySeconds, test.wantReady)
		}
		if problems := f.reconcile(testKey); len(problems) > 0 || len(f.writes()) > 0 {
			t.Errorf("%s: in the end there are %v and writes %q", name, problems, f.writes())
		}
	}
}
