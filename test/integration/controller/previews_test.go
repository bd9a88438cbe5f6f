package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websitev1beta1ac "github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// remoteBranches are the branches that the pods of a namespace report.
type remoteBranches struct {
	namespace string
	id        string

	mu    sync.Mutex
	names []string
	since int
}

func (b *remoteBranches) set(names ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names, b.since = names, b.since+1
}

func (b *remoteBranches) answer(pod *corev1.Pod) map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	answer := framework.Serving(commit)
	if pod.Namespace != b.namespace || pod.Labels["controller"] != "shop" {
		return answer
	}
	var listed []string
	for _, name := range b.names {
		listed = append(listed, fmt.Sprintf(`{"name": %q, "commit": %q}`, name, commit))
	}
	answer["status"] = fmt.Sprintf(`%s, "branches": {"id": %q, "since": "2026-01-01T00:00:%02dZ", "branches": [%s]}}`,
		strings.TrimSuffix(answer["status"], "}"), b.id, b.since, strings.Join(listed, ","))
	return answer
}

// TestPreviews: the controller, without permission to get Secrets, writes previews with the
// credentials of their Website. It writes them once, and deletes them when the branch is gone.
func TestPreviews(t *testing.T) {
	stopController(t)
	admin, namespace := framework.Admin(t), framework.NewNamespace(t)
	shop := framework.NewWebsite(namespace, "shop", func(w *v1beta1.Website) {
		w.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "main"}
		w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: "credentials"}
		w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"feature-*"}, MaxCount: 2,
			Domain: "previews.example.test"}
	})
	remote := &remoteBranches{namespace: namespace,
		id: requests.Previews{Branches: shop.Spec.Previews.Branches}.ID(shop.Spec.Source.Git.Repository)}
	remote.set("feature-a", "feature-b", "feature-c")
	_, reconciles := startProbing(t, remote.answer, "--commit-observation-period=1s")
	framework.MustCreate(t, shop)

	list := func() []v1beta1.Website {
		previews, err := admin.Websites.WebsiteV1beta1().Websites(namespace).List(t.Context(),
			metav1.ListOptions{LabelSelector: website.LabelPreviewOf + "=shop"})
		if err != nil {
			t.Fatal(err)
		}
		return previews.Items
	}
	wait := func(what string, want ...string) {
		t.Helper()
		framework.WaitFor(t, what, func(context.Context) error {
			var got []string
			for _, preview := range list() {
				got = append(got, preview.Name)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("the previews are %q, want %q", got, want)
			}
			return nil
		})
	}
	wait("as many as there may be", "shop-feature-a", "shop-feature-b")
	framework.WaitCondition(t, namespace, "shop", v1beta1.WebsitePreviewsReady, metav1.ConditionTrue,
		v1beta1.WebsiteReasonPreviewLimitReached)
	framework.WaitCondition(t, namespace, "shop-feature-a", v1beta1.WebsiteReady, metav1.ConditionTrue,
		v1beta1.WebsiteReasonServing)
	preview := framework.MustGet(t, framework.NewWebsite(namespace, "shop-feature-a"))
	headers, _ := json.Marshal(preview.Spec.Serving.Headers)
	if preview.Spec.Source.Git.SecretRef == nil || preview.Spec.Source.Git.Ref.Branch != "feature-a" ||
		len(preview.Spec.Hosts) != 1 ||
		preview.Spec.Hosts[0].Name != "feature-a.shop.previews.example.test" ||
		!strings.Contains(string(headers), `"X-Robots-Tag","value":"noindex"`) {
		t.Errorf("the preview has the spec %+v", preview.Spec)
	}

	// A pin of the preview is kept when its Website changes, and the other fields follow.
	patch := func(name, content string) {
		t.Helper()
		if _, err := admin.Websites.WebsiteV1beta1().Websites(namespace).Patch(t.Context(), name, types.MergePatchType,
			[]byte(content), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch("shop-feature-a", fmt.Sprintf(`{"spec":{"pin":{"commit":%q},"replicas":3}}`, commit))
	patch("shop", `{"spec":{"serving":{"index":"start.html"}}}`)
	framework.WaitFor(t, "the preview follows its Website", func(context.Context) error {
		current := framework.MustGet(t, preview)
		if current.Spec.Serving.Index != "start.html" || *current.Spec.Replicas != 1 ||
			current.Spec.PinnedCommit() != commit {
			return fmt.Errorf("the preview has the spec %+v", current.Spec)
		}
		return nil
	})
	generation := framework.MustGet(t, preview).Generation
	before, _ := reconciles.Of(namespace + "/shop")
	patch("shop", `{"spec":{"polling":{"periodSeconds":61}}}`)
	framework.WaitFor(t, "the change reaches the preview", func(context.Context) error {
		if got := framework.MustGet(t, preview).Spec.Polling.PeriodSeconds; got != 61 {
			return fmt.Errorf("periodSeconds is %d", got)
		}
		return nil
	})
	remote.set("feature-a", "feature-b")
	framework.WaitCondition(t, namespace, "shop", v1beta1.WebsitePreviewsReady, metav1.ConditionTrue,
		v1beta1.WebsiteReasonPreviewsCurrent)
	if err := reconciles.Await(t.Context(), namespace+"/shop", before+3); err != nil {
		t.Error(err)
	}
	if got := framework.MustGet(t, preview).Generation; got != generation+1 {
		t.Errorf("the preview was changed %d times by one change of its Website", got-generation)
	}

	checkApplied(t, framework.MustGet(t, shop), framework.MustGet(t, preview))

	remote.set("feature-b")
	wait("one whose branch is gone is removed", "shop-feature-b")
	reported := framework.MustGet(t, shop).Status
	if meta.FindStatusCondition(reported.Conditions, v1beta1.WebsitePreviewsReady) == nil {
		t.Errorf("the status is %+v", reported)
	}
	if err := admin.Websites.WebsiteV1beta1().Websites(namespace).Delete(t.Context(), "shop",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wait("with the Website, its previews are gone")
}

// checkApplied compares the applied fields in the managed fields with the controller's apply
// configuration: with a difference, it would write the preview for ever.
func checkApplied(t *testing.T, shop, preview *v1beta1.Website) {
	t.Helper()
	desired, err := resources.Preview(shop, "feature-a", shop.Spec.Previews.Domain)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := websitev1beta1ac.ExtractWebsite(preview, cached.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	applied.Annotations = nil
	want, _ := json.Marshal(desired)
	if got, _ := json.Marshal(applied); string(got) != string(want) {
		t.Errorf("applied was\n%s, want\n%s", got, want)
	}
}
