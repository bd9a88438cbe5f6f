package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// newBetaWebsite returns a Website that says what v1alpha1 cannot.
func newBetaWebsite(namespace, name string) *v1beta1.Website {
	return &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{
				Repository: "https://example.com/site.git",
				Ref:        &v1beta1.GitReference{Branch: "live"},
				Path:       "public",
			},
			Sync:    v1beta1.WebsiteSync{PeriodSeconds: 10},
			Serving: v1beta1.WebsiteServing{Redirects: []v1beta1.Redirect{{From: "/old", To: "/new"}}},
			Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP},
		},
	}
}

// TestOldClientLosesNothing lets a client of v1alpha1 scale a Website that was
// written in v1beta1.
func TestOldClientLosesNothing(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), newNamespace(t)
	beta := admin(t).websites.WebsiteV1beta1().Websites(namespace)
	created, err := beta.Create(ctx, newBetaWebsite(namespace, "kubia"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitSettled(t, namespace, "kubia")

	old := mustGet(t, newWebsite(namespace, "kubia"))
	old.Spec.Replicas = ptr.To[int32](2)
	if _, err := admin(t).websites.WebsiteV1alpha1().Websites(namespace).Update(ctx, old, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := beta.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := created.Spec.DeepCopy()
	want.Replicas = ptr.To[int32](2)
	if !apiequality.Semantic.DeepEqual(got.Spec, *want) {
		t.Errorf("spec = %+v, want %+v", got.Spec, *want)
	}
	if len(got.Annotations) != 0 {
		t.Errorf("annotations = %v: what carries fields in v1alpha1 is left over", got.Annotations)
	}
}

// TestChildrenFollowTheSpec changes what only v1beta1 can say.
func TestChildrenFollowTheSpec(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), newNamespace(t), admin(t)
	if _, err := client.websites.WebsiteV1beta1().Websites(namespace).Create(ctx, newBetaWebsite(namespace, "kubia"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitAvailable(t, newWebsite(namespace, "kubia"), 1)

	hasArgs := func(want ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			deployment, err := client.kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia", metav1.GetOptions{})
			if err != nil {
				return err
			}
			args := deployment.Spec.Template.Spec.InitContainers[0].Args
			for _, arg := range want {
				if !slices.Contains(args, arg) {
					return fmt.Errorf("arguments of git-sync = %q, want %q", args, arg)
				}
			}
			return nil
		}
	}
	// Without a name of its own, the Deployment has the Website's.
	waitFor(t, "git-sync follows the branch", hasArgs("--ref=refs/heads/live", "--period=10s"))
	service, err := client.kubernetes.CoreV1().Services(namespace).Get(ctx, "kubia-npsvc", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if service.Spec.Type != corev1.ServiceTypeClusterIP {
		t.Errorf("type of the Service = %s, want ClusterIP", service.Spec.Type)
	}
	config, err := client.kubernetes.CoreV1().ConfigMaps(namespace).Get(ctx, "kubia-nginx", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`location = "/old"`, `return 301 "/new"`, "$served/public;"} {
		if !strings.Contains(config.Data["nginx.conf"], want) {
			t.Errorf("the nginx configuration lacks %s", want)
		}
	}

	kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p", `{"spec":{"source":{"ref":{"branch":null,"tag":"v1"}},"service":{"type":"NodePort"}}}`)
	waitFor(t, "git-sync follows the tag", hasArgs("--ref=refs/tags/v1"))
	waitFor(t, "the status has the node port", func(ctx context.Context) error {
		w, err := client.websites.WebsiteV1beta1().Websites(namespace).Get(ctx, "kubia", metav1.GetOptions{})
		if err == nil && (w.Status.NodePort == 0 || w.Status.ObservedGeneration != w.Generation) {
			err = fmt.Errorf("status = %+v", w.Status)
		}
		return err
	})
}
