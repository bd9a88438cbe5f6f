package resources

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestLimitedContainers has the messages of the admission plugin LimitRanger.
func TestLimitedContainers(t *testing.T) {
	sync := []string{"agent (spec.resources.sync)", "git-sync (spec.resources.sync)"}
	all := append([]string{"nginx (spec.resources.server)"}, sync...)
	for name, test := range map[string]struct {
		message string
		want    []string
	}{
		"maximum of one": {"maximum memory usage per Container is 200Mi, but limit is 256Mi", sync},
		"maximum of all": {"maximum cpu usage per Container is 500m, but limit is 1", all},
		"minimum":        {"minimum memory usage per Container is 30Mi, but request is 16Mi", all[:1]},
		"ratio":          {"cpu max limit to request ratio per Container is 4, but provided ratio is 100.000000", all},
		"several": {"[maximum cpu usage per Container is 2, but limit is 3, minimum memory usage per Container is " +
			"20Mi, but request is 16Mi]", all[:1]},
		"of the disk": {"maximum ephemeral-storage usage per Container is 1Gi, but limit is 3424Mi", sync},
		"no limit":    {"maximum ephemeral-storage usage per Container is 1Gi, but no limit is specified", all},
		"of pods":     {"maximum cpu usage per Pod is 1, but limit is 2", nil},
		"of a policy": {"violates PodSecurity", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := LimitedContainers(newWebsite(), test.message); !slices.Equal(got, test.want) {
				t.Errorf("LimitedContainers = %q, want %q", got, test.want)
			}
		})
	}
	accepted := newWebsite(func(w *v1beta1.Website) {
		limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("40m")}
		w.Spec.Resources.Server.Limits, w.Spec.Resources.Sync.Limits = limits, limits
	})
	if got := LimitedContainers(accepted,
		"cpu max limit to request ratio per Container is 4, but provided ratio is 100.000000"); got != nil {
		t.Errorf("within the ratio, LimitedContainers = %q", got)
	}
}

// TestAgentResources: a LimitRange that accepts git-sync accepts the container agent.
func TestAgentResources(t *testing.T) {
	containers := buildDeployment(t, newWebsite(func(w *v1beta1.Website) {
		w.Spec.Resources.Sync.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"),
			corev1.ResourceMemory: resource.MustParse("300Mi")}
	})).Spec.Template.Spec.InitContainers
	agent, gitSync := containers[0].Resources, containers[1].Resources
	if agent.Limits.Cpu().String() != "100m" || !agent.Requests.Cpu().Equal(*gitSync.Requests.Cpu()) ||
		!agent.Limits.Memory().Equal(*gitSync.Limits.Memory()) {
		t.Errorf("the agent has %+v, git-sync %+v", agent, gitSync)
	}
}
