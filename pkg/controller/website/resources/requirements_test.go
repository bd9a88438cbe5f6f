package resources

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestRequirements sets the same for both containers, which have defaults of their own.
func TestRequirements(t *testing.T) {
	list := func(quantities ...string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for i := 0; i < len(quantities); i += 2 {
			l[corev1.ResourceName(quantities[i])] = resource.MustParse(quantities[i+1])
		}
		return l
	}
	type want struct{ server, sync corev1.ResourceRequirements }
	both := func(requests, limits corev1.ResourceList) want {
		r := corev1.ResourceRequirements{Requests: requests, Limits: limits}
		return want{server: r, sync: r}
	}
	tests := map[string]struct {
		given corev1.ResourceRequirements
		want  want
	}{
		"nothing": {want: want{
			server: corev1.ResourceRequirements{Requests: list("cpu", "10m", "memory", "16Mi"),
				Limits: list("cpu", "1", "memory", "128Mi")},
			sync: corev1.ResourceRequirements{Requests: list("cpu", "10m", "memory", "32Mi"),
				Limits: list("cpu", "1", "memory", "256Mi")},
		}},
		"one request": {
			given: corev1.ResourceRequirements{Requests: list("cpu", "50m")},
			want: want{
				server: corev1.ResourceRequirements{Requests: list("cpu", "50m", "memory", "16Mi"),
					Limits: list("cpu", "1", "memory", "128Mi")},
				sync: corev1.ResourceRequirements{Requests: list("cpu", "50m", "memory", "32Mi"),
					Limits: list("cpu", "1", "memory", "256Mi")},
			},
		},
		"requests above the default limits": {
			given: corev1.ResourceRequirements{Requests: list("cpu", "2", "memory", "1Gi")},
			want:  both(list("cpu", "2", "memory", "1Gi"), list("cpu", "2", "memory", "1Gi")),
		},
		"limits below the default requests": {
			given: corev1.ResourceRequirements{Limits: list("cpu", "5m", "memory", "8Mi")},
			want:  both(list("cpu", "5m", "memory", "8Mi"), list("cpu", "5m", "memory", "8Mi")),
		},
		"all": {
			given: corev1.ResourceRequirements{Requests: list("cpu", "1m", "memory", "8Mi"),
				Limits: list("cpu", "2", "memory", "1Gi")},
			want: both(list("cpu", "1m", "memory", "8Mi"), list("cpu", "2", "memory", "1Gi")),
		},
		"a resource without a default": {
			given: corev1.ResourceRequirements{Limits: list("cpu", "1", "memory", "512Mi", "ephemeral-storage", "1Gi"),
				Requests: list("memory", "96Mi")},
			want: both(list("cpu", "10m", "memory", "96Mi"), list("cpu", "1", "memory", "512Mi", "ephemeral-storage", "1Gi")),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			template := buildDeployment(t, newWebsite(func(w *v1beta1.Website) {
				w.Spec.Resources = v1beta1.WebsiteResources{Server: test.given, Sync: test.given}
			})).Spec.Template.Spec
			if got := template.Containers[0].Resources; !apiequality.Semantic.DeepEqual(got, test.want.server) {
				t.Errorf("server: %+v, want %+v", got, test.want.server)
			}
			sync := test.want.sync
			sync.Requests, sync.Limits = maps.Clone(sync.Requests), maps.Clone(sync.Limits)
			if _, given := sync.Limits[corev1.ResourceEphemeralStorage]; !given {
				sync.Limits[corev1.ResourceEphemeralStorage] = resource.MustParse("3424Mi")
			}
			sync.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse("256Mi")
			if got := template.InitContainers[1].Resources; !apiequality.Semantic.DeepEqual(got, sync) {
				t.Errorf("sync: %+v, want %+v", got, sync)
			}
		})
	}
}

// TestDisk follows the size limit to the volume, the agent and the scheduler.
func TestDisk(t *testing.T) {
	for name, test := range map[string]struct {
		disk, request, limit        string
		wantDisk, wantReq, wantMost string
		budget                      int64
	}{
		"default": {wantDisk: "2Gi", wantReq: "256Mi", wantMost: "3424Mi", budget: 1932735283},
		"small":   {disk: "64Mi", wantDisk: "64Mi", wantReq: "8Mi", wantMost: "1440Mi", budget: 60397977},
		"large":   {disk: "16Ti", wantDisk: "16Ti", wantReq: "2Ti", wantMost: "16778592Mi", budget: 15832967439974},
		"with a request": {disk: "1Gi", request: "1Gi", wantDisk: "1Gi", wantReq: "1Gi", wantMost: "2400Mi",
			budget: 966367641},
		"request above": {disk: "1Gi", request: "4Gi", wantDisk: "1Gi", wantReq: "4Gi", wantMost: "4Gi", budget: 966367641},
		"limit above":   {limit: "4Gi", wantDisk: "2Gi", wantReq: "256Mi", wantMost: "4Gi", budget: 1932735283},
		// The kubelet evicts the pod for its limit before it does for the volume.
		"limit below": {limit: "3Gi", wantDisk: "2Gi", wantReq: "256Mi", wantMost: "3Gi",
			budget: (3072 - 1376) << 20 * 9 / 10},
		"limit far below":  {limit: "1Gi", wantDisk: "2Gi", wantReq: "256Mi", wantMost: "1Gi", budget: 512 << 20 * 9 / 10},
		"limit of a share": {limit: "100Mi", wantDisk: "2Gi", wantReq: "100Mi", wantMost: "100Mi", budget: 50 << 20 * 9 / 10},
	} {
		t.Run(name, func(t *testing.T) {
			storage := func(quantity string) corev1.ResourceList {
				if quantity == "" {
					return nil
				}
				return corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(quantity)}
			}
			pod := buildDeployment(t, newWebsite(func(w *v1beta1.Website) {
				if test.disk != "" {
					disk := resource.MustParse(test.disk)
					w.Spec.Storage.SizeLimit = &disk
				}
				w.Spec.Resources.Sync = corev1.ResourceRequirements{Requests: storage(test.request), Limits: storage(test.limit)}
			})).Spec.Template.Spec
			if limit := pod.Volumes[0].EmptyDir.SizeLimit; limit.Cmp(resource.MustParse(test.wantDisk)) != 0 {
				t.Errorf("the limit of volume %s is %s, want %s", pod.Volumes[0].Name, limit, test.wantDisk)
			}
			gitSync := pod.InitContainers[1]
			if got := gitSync.Resources.Requests.StorageEphemeral(); got.Cmp(resource.MustParse(test.wantReq)) != 0 {
				t.Errorf("%s of ephemeral-storage are requested, want %s", got, test.wantReq)
			}
			if got := gitSync.Resources.Limits.StorageEphemeral(); got.Cmp(resource.MustParse(test.wantMost)) != 0 {
				t.Errorf("the limit of ephemeral-storage is %s, want %s", got, test.wantMost)
			}
			if want := fmt.Sprintf("--disk-budget=%d", test.budget); !slices.Contains(gitSync.Args, want) {
				t.Errorf("arguments = %q, want %q among them", gitSync.Args, want)
			}
		})
	}
}

// TestStorageLimit: the kubelet evicts a pod that exceeds the limit of a volume, and not sooner.
func TestStorageLimit(t *testing.T) {
	pod := buildDeployment(t, newWebsite()).Spec.Template.Spec
	limit := pod.InitContainers[1].Resources.Limits.StorageEphemeral().Value()
	for _, volume := range pod.Volumes {
		if volume.EmptyDir != nil && volume.EmptyDir.Medium == corev1.StorageMediumDefault {
			limit -= volume.EmptyDir.SizeLimit.Value()
		}
	}
	if limit < logSize {
		t.Errorf("%d bytes are left for logs when all volumes are full", limit)
	}
}

// TestWorkers: one worker for each requested CPU.
func TestWorkers(t *testing.T) {
	for cpu, want := range map[string]int{"": 1, "10m": 1, "1": 1, "1001m": 2, "4": 4} {
		config, err := NginxConfig(newWebsite(func(w *v1beta1.Website) {
			if cpu != "" {
				w.Spec.Resources.Server.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
			}
		}), testInstallation)
		if directive := fmt.Sprintf("\nworker_processes %d;\n", want); err != nil || !strings.Contains(config, directive) {
			t.Errorf("with %q of cpu requested the configuration lacks %q, %v", cpu, directive, err)
		}
	}
}
