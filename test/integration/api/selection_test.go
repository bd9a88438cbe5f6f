package api

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestSelectionByStatus selects by fields of the status, on a server without a controller.
func TestSelectionByStatus(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), framework.NewServer(t)
	clients := framework.NewClients(t, s.Config(t)).Websites
	websites, alpha := clients.WebsiteV1beta1().Websites(metav1.NamespaceDefault),
		clients.WebsiteV1alpha1().Websites(metav1.NamespaceDefault)
	kubeconfig := "--kubeconfig=" + framework.WriteKubeconfig(t, s.Config(t))
	commit := strings.Repeat("0a", 20)
	report := func(name string, ready metav1.ConditionStatus) {
		t.Helper()
		w, err := websites.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.Status.Commit = commit
		w.Status.Conditions = []metav1.Condition{{Type: v1beta1.WebsiteReady, Status: ready, Reason: "Tested",
			LastTransitionTime: metav1.Now()}}
		if _, err := websites.UpdateStatus(ctx, w, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"broken", "fine", "new"} {
		if _, err := websites.Create(ctx, framework.NewWebsite(metav1.NamespaceDefault, name),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	report("broken", metav1.ConditionFalse)
	report("fine", metav1.ConditionTrue)

	for selector, want := range map[string][]string{
		"status.ready=False":                           {"broken"},
		"status.ready=True":                            {"fine"},
		"status.ready=Unknown":                         {"new"},
		"status.ready!=True":                           {"broken", "new"},
		"status.commit=" + commit:                      {"broken", "fine"},
		"status.commit=":                               {"new"},
		"status.ready=False,status.commit=" + commit:   {"broken"},
		"status.ready=False,metadata.name=fine":        {},
		"status.ready=True,spec.deploymentName=broken": {},
	} {
		if got := namesOf(mustList(t, websites, metav1.ListOptions{FieldSelector: selector})); !slices.Equal(got, want) {
			t.Errorf("%s selects %v, want %v", selector, got, want)
		}
		list, err := alpha.List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil || len(list.Items) != len(want) {
			t.Errorf("%s selects %+v in v1alpha1 (%v), want %v", selector, list, err, want)
		}
	}
	if got := strings.Fields(framework.Kubectl(t, kubeconfig, "get", "websites", "--field-selector", "status.ready=False",
		"-o", "name")); len(got) != 1 || !strings.HasSuffix(got[0], "/broken") {
		t.Errorf("kubectl get --field-selector printed %q, want broken", got)
	}

	// The watch starts with the selected objects; later, objects enter and leave the selection.
	watcher := framework.StartWatch(t, websites, metav1.ListOptions{FieldSelector: "status.ready=False"})
	next := func(what string, kind watch.EventType, name string) {
		t.Helper()
		event := framework.NextEvent(t, watcher)
		if w, ok := event.Object.(*v1beta1.Website); !ok || event.Type != kind || w.Name != name {
			t.Fatalf("%s: event %s of %+v, want %s of %s", what, event.Type, event.Object, kind, name)
		}
	}
	next("at the beginning", watch.Added, "broken")
	report("fine", metav1.ConditionFalse)
	next("a Website enters the selection", watch.Added, "fine")
	report("new", metav1.ConditionTrue)
	report("broken", metav1.ConditionTrue)
	next("a Website leaves the selection", watch.Deleted, "broken")

	if err := websites.DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "status.ready=False"}); err != nil {
		t.Fatal(err)
	}
	next("deletion", watch.Deleted, "fine")
	if got := namesOf(mustList(t, websites, metav1.ListOptions{})); !slices.Equal(got, []string{"broken", "new"}) {
		t.Errorf("after the deletion of a selection: %v, want broken and new", got)
	}
}

// TestScaleOfANewWebsite: its selector does not depend on the controller.
func TestScaleOfANewWebsite(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), framework.NewServer(t)
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1beta1().Websites(metav1.NamespaceDefault)
	if _, err := websites.Create(ctx, framework.NewWebsite(metav1.NamespaceDefault, "kubia", framework.WithReplicas(3)),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scale, err := websites.GetScale(ctx, "kubia", metav1.GetOptions{})
	if want := "mycontroller.nevermosby.io/deployment=kubia"; err != nil || scale.Status.Selector != want {
		t.Errorf("selector = %q (%v), want %q", scale.Status.Selector, err, want)
	}
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		lines := strings.Split(framework.Kubectl(t, "--kubeconfig="+framework.WriteKubeconfig(t, s.Config(t)), "get",
			"websites."+version+".mycontroller.nevermosby.io", "kubia", "--subresource=scale"), "\n")
		if got, want := strings.Fields(lines[0]), []string{"NAME", "DESIRED", "AVAILABLE", "AGE"}; !slices.Equal(got, want) {
			t.Errorf("%s: kubectl printed the columns %q, want %q", version, got, want)
		}
		if got := strings.Fields(lines[1]); len(got) != 4 || got[0] != "kubia" || got[1] != "3" || got[2] != "0" {
			t.Errorf("%s: kubectl printed %q, want 0 of 3 available", version, got)
		}
	}
}

// TestTakenDeploymentNameIsRejected: the message names the Website with the same Deployment.
func TestTakenDeploymentNameIsRejected(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "first", framework.WithDeployment("kubia-website")))
	const want = `spec.deploymentName: Duplicate value: "kubia-website": the Website "first" of this namespace has it: ` +
		`choose another name`
	for name, manifest := range map[string]string{
		"v1beta1":  betaManifest("second", validSource, validDeployment),
		"v1alpha1": manifest("second", validRepo, validDeployment),
	} {
		for _, args := range [][]string{{"create"}, {"create", "--dry-run=server"}, {"apply"}, {"apply", "--server-side"},
			{"apply", "--server-side", "--dry-run=server"}} {
			stderr := framework.KubectlRefused(t, manifest, append(args, "-n", namespace, "-f", "-")...)
			if !strings.Contains(stderr, want) {
				t.Errorf("%s, %v: kubectl printed %q, want %q", name, args, stderr, want)
			}
		}
	}
	framework.Kubectl(t, "delete", "website", "first", "-n", namespace)
	if _, stderr, err := framework.Cluster.KubectlWith(
		t.Context(), framework.Stdin(betaManifest("second", validSource, validDeployment)), "create", "-n",
		namespace, "-f", "-",
	); err != nil {
		t.Errorf("after the deletion: %v\n%s", err, stderr)
	}
}
