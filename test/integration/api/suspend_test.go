package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestApplySuspended repeatedly applies a manifest that suspends a Website without a pin, as GitOps
// tools do.
func TestApplySuspended(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{
		"client-side apply": nil,
		"server-side apply": {"--server-side", "--field-manager=gitops"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, namespace := t.Context(), framework.NewNamespace(t)
			websites := framework.Websites(t, namespace)
			apply := func(suspend string) string {
				t.Helper()
				manifest := filepath.Join(t.TempDir(), "site.yaml")
				content := "apiVersion: mycontroller.nevermosby.io/v1beta1\nkind: Website\nmetadata: {name: kubia}\nspec:\n" +
					suspend +
					"  source: {git: {repository: \"https://example.com/site.git\"}}\n"
				if err := os.WriteFile(manifest, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				return framework.Kubectl(t, append([]string{"apply", "-n", namespace, "-f", manifest}, options...)...)
			}
			pin := func() string {
				t.Helper()
				w, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				managed, err := json.Marshal(w.ManagedFields)
				if err != nil || strings.Contains(string(managed), "f:pin") || !strings.Contains(string(managed), "f:source") {
					t.Errorf("managed fields %s (%v), want no manager of the pin", managed, err)
				}
				if w.Spec.Pin == nil {
					return ""
				}
				return w.Spec.Pin.Commit + " " + string(w.Spec.Pin.Cause)
			}
			apply("")
			release := map[string]any{"commit": newCommit, "cause": "Poll", "publishedTime": "2026-01-01T00:00:00Z"}
			patchStatus(ctx, t, namespace, map[string]any{"history": []any{release}})
			const suspended = "  suspend: true\n"
			apply(suspended)
			before, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := pin(); got != newCommit+" Suspend" {
				t.Errorf("suspended: the pin is %q", got)
			}
			for range 2 {
				if said := apply(suspended); options == nil && !strings.Contains(said, "unchanged") {
					t.Errorf("applied again: %s", said)
				}
			}
			after, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
			if err != nil || after.Generation != before.Generation || pin() != newCommit+" Suspend" {
				t.Errorf("applied again: generation %d after %d, pin %q (%v)", after.Generation, before.Generation, pin(), err)
			}
			// A scale, and a client of v1alpha1, which has neither field, keep the pin.
			framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=0")
			framework.Kubectl(t, "patch", "websites.v1alpha1."+website.GroupName, "kubia", "-n", namespace, "--type=merge", "-p",
				`{"spec":{"replicas":2}}`)
			if got := pin(); got != newCommit+" Suspend" {
				t.Errorf("scaled: the pin is %q", got)
			}
			apply("  suspend: false\n")
			if got := pin(); got != "" {
				t.Errorf("resumed: the pin is %q", got)
			}
			apply(suspended)
			framework.Kubectl(t, "patch", "website/kubia", "-n", namespace, "--type=merge", "-p",
				`{"spec":{"pin":{"commit":"`+oldCommit+`"}}}`)
			apply("")
			w, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
			if err != nil || w.Spec.Suspend != nil || w.Spec.Pin == nil || w.Spec.Pin.Commit != oldCommit ||
				w.Spec.Pin.Cause != "" {
				t.Errorf("resumed by removing suspend, with the pin of a user: %+v (%v)", w.Spec, err)
			}
		})
	}
}
