package resources

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

var testInstallation = Installation{Nginx: "example.com/nginx:1", GitSync: "example.com/git-sync:2",
	Agent: "example.com/agent:3"}

// newWebsite returns a valid Website, changed by tweaks.
func newWebsite(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	website := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default", UID: "uid-of-kubia"},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{
				Repository: "https://github.com/nevermosby/kubia-website-example.git",
				Submodules: v1beta1.SubmodulesNone,
			}},
			Polling:        v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 60, TimeoutSeconds: 120},
			Service:        v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
			DeploymentName: "kubia-website",
			Replicas:       ptr.To[int32](1),
		},
	}
	for _, tweak := range tweaks {
		tweak(website)
	}
	return website
}

func TestNames(t *testing.T) {
	website := newWebsite()
	if got, want := DeploymentName(website), "kubia-website"; got != want {
		t.Errorf("DeploymentName() = %q, want %q", got, want)
	}
	if got, want := ServiceName(website), "kubia-website-npsvc"; got != want {
		t.Errorf("ServiceName() = %q, want %q", got, want)
	}
	if got, want := ConfigMapName(website, "the configuration"), "kubia-website-nginx-f12cd4b322ac370d"; got != want {
		t.Errorf("ConfigMapName() = %q, want %q", got, want)
	}
}

func TestDeploymentNameOfChildren(t *testing.T) {
	for name, test := range map[string]struct {
		inverse func(string) (string, bool)
		child   string
		want    string
		wantOK  bool
	}{
		"service":            {DeploymentNameOfService, ServiceName(newWebsite()), "kubia-website", true},
		"config map":         {DeploymentNameOfConfigMap, ConfigMapName(newWebsite(), ""), "kubia-website", true},
		"agents' config map": {DeploymentNameOfConfigMap, AgentConfigMapName(newWebsite()), "kubia-website", true},
		"agents' config map of a name like another": {DeploymentNameOfConfigMap, "a-nginx-agent", "a-nginx", true},
		"an older config map": {DeploymentNameOfConfigMap, "kubia-website-nginx",
			"kubia-website", true},
		"a name like a hash": {DeploymentNameOfConfigMap, "a-nginx-0123456789abcdef-nginx",
			"a-nginx-0123456789abcdef", true},
		"another hash":           {DeploymentNameOfConfigMap, "kubia-website-nginx-0123", "", false},
		"some other service":     {DeploymentNameOfService, "kubernetes", "", false},
		"some other config map":  {DeploymentNameOfConfigMap, "kube-root-ca.crt", "", false},
		"nothing but the suffix": {DeploymentNameOfService, "-npsvc", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := test.inverse(test.child)
			if ok != test.wantOK || ok && got != test.want {
				t.Errorf("got %q, %t, want %q, %t", got, ok, test.want, test.wantOK)
			}
		})
	}
}
