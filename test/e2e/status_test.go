package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestStatusSaysWhatIsMissing has mistakes that no change of the repository
// corrects. Their reasons come from a real scheduler and a real kubelet.
func TestStatusSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tweak  func(*v1beta1.Website)
		reason string
	}{
		"host": {func(w *v1beta1.Website) { w.Spec.Source.Git.Repository = "http://nowhere.invalid/site.git" },
			v1beta1.WebsiteReasonRepositoryUnreachable},
		"Secret":          {withUnusedSecret("nowhere"), v1beta1.WebsiteReasonPodNotStarting},
		"key of a Secret": {withUnusedSecret("incomplete"), v1beta1.WebsiteReasonPodNotStarting},
		"node": {func(w *v1beta1.Website) { w.Spec.Scheduling.NodeSelector = map[string]string{"is": "nowhere"} },
			v1beta1.WebsiteReasonUnschedulable},
		"disk of a node":   {withDisk(fmt.Sprintf("%dGi", 9*nodeDisk)), v1beta1.WebsiteReasonUnschedulable},
		"memory to run in": {withServerMemory("1Mi"), v1beta1.WebsiteReasonContainerFailing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			r := newRepository(t, "", namespace, "main")
			r.release(t, "release-1")
			framework.Kubectl(t, "create", "secret", "generic", "incomplete", "--namespace="+namespace,
				"--from-literal=password=only")
			s := applySite(t, newWebsite(namespace, r, test.tweak), r)
			s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, test.reason)
		})
	}
}

// withUnusedSecret names a Secret for a repository that no pod fetches.
func withUnusedSecret(name string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) {
		w.Spec.Source.Git.Repository = "https://nowhere.invalid/site.git"
		withSecret(name)(w)
	}
}

// withDisk limits the volume of a pod. The scheduler reserves a part of it.
func withDisk(size string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) { w.Spec.Storage.SizeLimit = ptr.To(resource.MustParse(size)) }
}

// withServerMemory limits the memory of nginx.
func withServerMemory(limit string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) {
		w.Spec.Resources.Server.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}
	}
}

// TestImageUnavailable gives a pod an image that no registry has: the image of
// a pod may be changed, and a Website has no field for it. The next pod has the
// right one again.
func TestImageUnavailable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	pod := s.pod(t)
	s.kubectl(t, "set", "image", "pod/"+pod.Name, "nginx=127.0.0.1:1/nginx:missing")
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonImageUnavailable)
	s.kubectl(t, "delete", "pod", pod.Name, "--wait=false")
	s.waitLive(t, s.repository.release(t, "release-2"))
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
}
