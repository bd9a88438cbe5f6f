package website

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// A foreign object has no labels that could distinguish it by accident.
func foreignDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testDeployment, UID: "foreign"},
	}
}

// shopDeployment returns a Deployment that another controller owns.
func shopDeployment() *appsv1.Deployment {
	deployment := foreignDeployment()
	deployment.OwnerReferences = ofShop()
	return deployment
}

func ofShop() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Shop", Name: "corner", UID: "shop",
		Controller: ptr.To(true)}}
}

func foreignService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testDeployment + "-npsvc", UID: "foreign"},
	}
}

func foreignConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testConfigMap, UID: "foreign"},
		Data:       map[string]string{"mine": "yes"},
	}
}

// TestNameOfAWebsiteThatIsBeingDeleted: garbage collection removes its children, so users need to do
// nothing.
func TestNameOfAWebsiteThatIsBeingDeleted(t *testing.T) {
	for name, isDeleted := range map[string]bool{"it stays": false, "it is being deleted": true} {
		t.Run(name, func(t *testing.T) {
			other := newWebsite(withName("other"), func(website *v1beta1.Website) {
				website.Spec.DeploymentName = testDeployment
				if isDeleted {
					website.DeletionTimestamp, website.Finalizers = ptr.To(metav1.NewTime(testNow)),
						[]string{metav1.FinalizerDeleteDependents}
				}
			})
			f := newFixture(t, newWebsite(), other)
			deployment := foreignDeployment()
			deployment.OwnerReferences = []metav1.OwnerReference{
				*metav1.NewControllerRef(other, v1beta1.SchemeGroupVersion.WithKind("Website")),
			}
			f.store(deployment)
			problems := f.reconcile(testKey)
			if len(problems) != 1 || problems[0].Reason != v1beta1.WebsiteReasonNameTaken || problems[0].Passing != isDeleted {
				t.Errorf("the problems are %+v, want a name that is taken, which passes: %t", problems, isDeleted)
			}
		})
	}
}

func TestForeignObjectsAreNeverTouched(t *testing.T) {
	for name, foreign := range map[string]object{
		"deployment": foreignDeployment(),
		"service":    foreignService(),
		"config map": foreignConfigMap(),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newWebsite())
			f.store(foreign)
			before, err := f.tracker.Get(resourceOf(foreign), testNamespace, foreign.GetName())
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				f.reconcile(testKey)
				f.syncCaches()
			}
			after, err := f.tracker.Get(resourceOf(foreign), testNamespace, foreign.GetName())
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(before, after) {
				t.Errorf("before: %v\nafter: %v", before, after)
			}
			var taken int
			for _, event := range f.events() {
				if strings.HasPrefix(event, "Warning NameTaken") {
					taken++
				}
			}
			if taken != 1 {
				t.Errorf("%d events NameTaken in three reconciliations, want 1", taken)
			}
		})
	}
}

// TestChildrenOfADeletedWebsite: the children are garbage collected, so a Website that was created
// again reports no event.
func TestChildrenOfADeletedWebsite(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.store(controlledBy("mycontroller.nevermosby.io/v1beta1", "Website", testName, "an-earlier-one"))
	f.reconcile(testKey)
	ready := meta.FindStatusCondition(f.website(testName).Status.Conditions, v1beta1.WebsiteReady)
	if ready == nil || ready.Reason != v1beta1.WebsiteReasonNameTaken ||
		!strings.Contains(ready.Message, "garbage collection") || strings.Contains(ready.Message, "delete it") {
		t.Errorf("reported: %+v", ready)
	}
}

// TestAllTakenChildrenAreNamed: otherwise a user who frees one name after the other would see the
// next one a minute later.
func TestAllTakenChildrenAreNamed(t *testing.T) {
	// restored turns a child into one from a backup, without owner references and managed fields.
	restored := func(f *fixture) {
		for _, child := range []object{f.deployment(), f.configMap(), f.agentConfigMap(), f.service()} {
			f.remove(child)
			child.SetOwnerReferences(nil)
			child.SetManagedFields(nil)
			f.store(child)
		}
	}
	const (
		adopt     = `run "website-controller adopt" if a backup was restored, `
		unowned   = " exist already and have no owner, so they are left alone; "
		otherwise = ", or create this Website again with another deploymentName"
	)
	deployment, service := `Deployment "kubia-website"`, `Service "kubia-website-npsvc"`
	config, agentConfig := `ConfigMap "`+testConfigMap+`"`, `ConfigMap "kubia-website-agent"`
	for name, test := range map[string]struct {
		given func(f *fixture)
		want  string
	}{
		"restored": {restored,
			deployment + ", " + config + ", " + agentConfig + ", " + service + unowned + adopt + "delete them" + otherwise},
		"the Deployment is its own": {func(f *fixture) {
			for _, child := range []object{f.agentConfigMap(), f.service()} {
				f.remove(child)
				child.SetOwnerReferences(nil)
				child.SetManagedFields(nil)
				f.store(child)
			}
		}, agentConfig + ", " + service + unowned + adopt + "delete them" + otherwise},
		"of other clients": {func(f *fixture) {
			for _, child := range []object{f.deployment(), f.service()} {
				f.remove(child)
			}
			f.store(foreignDeployment())
			f.store(foreignService())
		}, deployment + ", " + service + unowned + "delete them" + otherwise},
		"of different owners": {func(f *fixture) {
			restored(f)
			edit(f, testDeployment, func(d *appsv1.Deployment) { d.OwnerReferences = ofShop() })
			edit(f, testConfigMap, func(c *corev1.ConfigMap) { c.OwnerReferences = ofShop() })
			gone := metav1.NewControllerRef(newWebsite(withName("gone")), v1beta1.SchemeGroupVersion.WithKind("Website"))
			edit(f, testAgentConfigMap, func(c *corev1.ConfigMap) { c.OwnerReferences = []metav1.OwnerReference{*gone} })
		}, deployment + ", " + config +
			` exist already and belong to Shop "corner", so they are left alone; delete them` + otherwise + "; " +
			agentConfig + ` still belongs to a deleted Website "gone"; ` +
			"it is created as soon as garbage collection has removed the old one; " +
			service + " exists already and has no owner, so it is left alone; " + adopt + "delete it" + otherwise},
	} {
		t.Run(name, func(t *testing.T) {
			pinned := newWebsite(func(website *v1beta1.Website) { website.Spec.Pin = pinTo(strings.Repeat("a", 40)) })
			f := newFixture(t, pinned)
			f.converge(pinned)
			test.given(f)
			f.syncCaches()
			for range 2 {
				problems := f.reconcile(testKey)
				if len(problems) != 1 || problems[0].Reason != v1beta1.WebsiteReasonNameTaken || problems[0].Message != test.want {
					t.Errorf("problems\n%v, want NameTaken once:\n%s", problems, test.want)
				}
			}
			if got := f.events(); len(got) != 1 || got[0] != "Warning NameTaken "+test.want {
				t.Errorf("events\n%q, want one with that message", got)
			}
			f.refreshWebsites()
			ready := meta.FindStatusCondition(f.website(testName).Status.Conditions, v1beta1.WebsiteReady)
			if ready == nil || ready.Message != test.want {
				t.Errorf("reported %+v, want that message", ready)
			}
		})
	}
}

// TestTakenServiceIsNoAddress: a Service with another owner is not in the status.
func TestTakenServiceIsNoAddress(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(newWebsite())
	edit(f, testDeployment+"-npsvc", func(service *corev1.Service) { service.Spec.Ports[0].NodePort = 30080 })
	f.syncCaches()
	f.reconcile(testKey)
	f.refreshWebsites()
	if status := f.website(testName).Status; status.NodePort != 30080 || len(status.URLs) == 0 {
		t.Fatalf("status: %+v", status)
	}
	f.remove(f.service())
	f.store(foreignService())
	f.syncCaches()
	f.reconcile(testKey)
	if status := f.website(testName).Status; status.NodePort != 0 || len(status.URLs) != 0 {
		t.Errorf("the addresses of another's Service are reported: %d, %v", status.NodePort, status.URLs)
	}
}

func TestNameTakenIsReportedEachTime(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.store(foreignDeployment())
	f.reconcile(testKey)
	f.reconcile(testKey)
	if got := f.events(); len(got) != 1 {
		t.Fatalf("events: %q", got)
	}

	// Another owner is another problem.
	deployment := shopDeployment()
	f.store(deployment)
	f.reconcile(testKey)
	if got := f.events(); len(got) != 1 || !strings.Contains(got[0], `Shop "corner"`) {
		t.Fatalf("events: %q", got)
	}

	// The name becomes free and is taken over, then lost again.
	f.remove(deployment)
	f.converge(newWebsite())
	f.remove(f.deployment())
	f.store(foreignDeployment())
	f.syncCaches()
	f.reconcile(testKey)
	if got := f.events(); len(got) != 1 {
		t.Fatalf("events: %q", got)
	}
}

// TestRestartRepeatsNoEvent: a new process reads reported problems from the status.
func TestRestartRepeatsNoEvent(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.store(foreignDeployment())
	restart := func() {
		f.refreshWebsites()
		f.controller.reconciler.memory.forget(testKey)
	}
	f.reconcile(testKey)
	if got := f.events(); len(got) != 1 {
		t.Fatalf("events: %q", got)
	}
	restart()
	f.reconcile(testKey)
	if got := f.events(); len(got) != 0 {
		t.Errorf("events after a restart: %q", got)
	}

	// A change in the meantime is reported.
	deployment := shopDeployment()
	f.store(deployment)
	restart()
	f.reconcile(testKey)
	if got := f.events(); len(got) != 1 || !strings.Contains(got[0], `Shop "corner"`) {
		t.Errorf("events: %q", got)
	}
}

func TestEventsOfDeletedWebsitesAreForgotten(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.store(foreignDeployment())
	f.reconcile(testKey)
	f.uncacheWebsite(newWebsite())
	f.reconcile(testKey)
	f.events()

	f.cacheWebsite(newWebsite())
	f.reconcile(testKey)
	if got := f.events(); len(got) != 1 {
		t.Errorf("a Website that was gone is still remembered: events %q", got)
	}

	// No problem of another Website of that name has been reported yet.
	f.cacheWebsite(newWebsite(func(website *v1beta1.Website) { website.UID = "another" }))
	f.reconcile(testKey)
	if got := f.events(); len(got) != 1 {
		t.Errorf("events: %q", got)
	}
}

func TestTwoWebsitesOneDeploymentName(t *testing.T) {
	first, second := newWebsite(withName("first")), newWebsite(withName("second"))
	f := newFixture(t, first, second)
	f.converge(first)

	key := second.Name
	if problems := f.reconcile(keyOf(second)); len(problems) != 1 {
		t.Fatalf("problems of %s: %v", key, problems)
	}
	if got := f.childWrites(); len(got) > 0 {
		t.Errorf("the second Website wrote: %q", got)
	}
	if got := f.events(); len(got) != 1 || !strings.Contains(got[0], `belong to Website "first"`) {
		t.Errorf("events: %q", got)
	}
	if !metav1.IsControlledBy(f.deployment(), first) {
		t.Error("the first Website lost its Deployment")
	}

	// The first Website is deleted, garbage collection removes its children, and the second takes
	// over without an event of its own.
	f.remove(f.deployment())
	f.remove(f.service())
	f.remove(f.configMap())
	f.syncCaches()
	f.uncacheWebsite(first)
	if err := f.websites.Tracker().Delete(v1beta1.SchemeGroupVersion.WithResource("websites"), first.Namespace,
		first.Name); err != nil {
		t.Fatal(err)
	}
	f.converge(second)
	for _, child := range []metav1.Object{f.deployment(), f.service(), f.configMap()} {
		if !metav1.IsControlledBy(child, second) {
			t.Errorf("%s is not controlled by the second Website", child.GetName())
		}
	}
}
