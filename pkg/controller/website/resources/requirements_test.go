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
			server: corev1.ResourceRequirements{Requests: list("cpu", "10m", "memory", "16Mi"), Limits: list("cpu", "1", "memory", "128Mi")},
			sync:   corev1.ResourceRequirements{Requests: list("cpu", "10m", "memory", "32Mi"), Limits: list("cpu", "1", "memory", "256Mi")},
		}},
		"one request": {
			given: corev1.ResourceRequirements{Requests: list("cpu", "50m")},
			want: want{
				server: corev1.ResourceRequirements{Requests: list("cpu", "50m", "memory", "16Mi"), Limits: list("cpu", "1", "memory", "128Mi")},
				sync:   corev1.ResourceRequirements{Requests: list("cpu", "50m", "memory", "32Mi"), Limits: list("cpu", "1", "memory", "256Mi")},
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
			given: corev1.ResourceRequirements{Requests: list("cpu", "1m", "memory", "8Mi"), Limits: list("cpu", "2", "memory", "1Gi")},
			want:  both(list("cpu", "1m", "memory", "8Mi"), list("cpu", "2", "memory", "1Gi")),
		},
		"a resource without a default": {
			given: corev1.ResourceRequirements{Limits: list("cpu", "1", "memory", "512Mi", "ephemeral-storage", "1Gi"), Requests: list("memory", "96Mi")},
			want:  both(list("cpu", "10m", "memory", "96Mi"), list("cpu", "1", "memory", "512Mi", "ephemeral-storage", "1Gi")),
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
			storage := resource.MustParse("256Mi")
			if limit, limited := test.want.sync.Limits[corev1.ResourceEphemeralStorage]; limited && limit.Cmp(storage) < 0 {
				storage = limit
			}
			test.want.sync.Requests = maps.Clone(test.want.sync.Requests)
			if _, given := test.want.sync.Requests[corev1.ResourceEphemeralStorage]; !given {
				test.want.sync.Requests[corev1.ResourceEphemeralStorage] = storage
			}
			if got := template.InitContainers[1].Resources; !apiequality.Semantic.DeepEqual(got, test.want.sync) {
				t.Errorf("sync: %+v, want %+v", got, test.want.sync)
			}
		})
	}
}

// TestDisk follows the size limit to the volume, the agent and the scheduler.
func TestDisk(t *testing.T) {
	for name, test := range map[string]struct {
		disk, request  string
		limit, storage string
		budget         int64
	}{
		"default":        {limit: "2Gi", storage: "256Mi", budget: 1932735283},
		"small":          {disk: "64Mi", limit: "64Mi", storage: "8Mi", budget: 60397977},
		"large":          {disk: "16Ti", limit: "16Ti", storage: "2Ti", budget: 15832967439974},
		"with a request": {disk: "1Gi", request: "1Gi", limit: "1Gi", storage: "1Gi", budget: 966367641},
	} {
		t.Run(name, func(t *testing.T) {
			pod := buildDeployment(t, newWebsite(func(w *v1beta1.Website) {
				if test.disk != "" {
					disk := resource.MustParse(test.disk)
					w.Spec.Storage.SizeLimit = &disk
				}
				if test.request != "" {
					w.Spec.Resources.Sync.Requests = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(test.request)}
				}
			})).Spec.Template.Spec
			if limit := pod.Volumes[0].EmptyDir.SizeLimit; limit.Cmp(resource.MustParse(test.limit)) != 0 {
				t.Errorf("the limit of volume %s is %s, want %s", pod.Volumes[0].Name, limit, test.limit)
			}
			gitSync := pod.InitContainers[1]
			if storage := gitSync.Resources.Requests[corev1.ResourceEphemeralStorage]; storage.Cmp(resource.MustParse(test.storage)) != 0 {
				t.Errorf("%s of ephemeral-storage are requested, want %s", storage.String(), test.storage)
			}
			if want := fmt.Sprintf("--disk-budget=%d", test.budget); !slices.Contains(gitSync.Args, want) {
				t.Errorf("arguments = %q, want %q among them", gitSync.Args, want)
			}
		})
	}
}

// TestWorkers: one for each CPU that is requested.
func TestWorkers(t *testing.T) {
	for cpu, want := range map[string]int{"": 1, "10m": 1, "1": 1, "1001m": 2, "4": 4} {
		config, err := NginxConfig(newWebsite(func(w *v1beta1.Website) {
			if cpu != "" {
				w.Spec.Resources.Server.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
			}
		}))
		if directive := fmt.Sprintf("\nworker_processes %d;\n", want); err != nil || !strings.Contains(config, directive) {
			t.Errorf("with %q of cpu requested the configuration lacks %q, %v", cpu, directive, err)
		}
	}
}
