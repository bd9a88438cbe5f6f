package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const longCommit = "0123456789abcdef0123456789abcdef01234567"

// mustContainer builds the Deployment of a Website and returns one container.
func mustContainer(t *testing.T, name string, tweaks ...func(*v1beta1.Website)) (*corev1ac.PodSpecApplyConfiguration,
	*corev1ac.ContainerApplyConfiguration) {
	t.Helper()
	deployment, err := Deployment(newWebsite(tweaks...), testInstallation, "")
	if err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	for _, containers := range [][]corev1ac.ContainerApplyConfiguration{pod.InitContainers, pod.Containers} {
		for i := range containers {
			if *containers[i].Name == name {
				return pod, &containers[i]
			}
		}
	}
	t.Fatalf("there is no container %s", name)
	return nil, nil
}

// TestAgentFollowsTheSource sets each field of the source with a flag of the agent.
func TestAgentFollowsTheSource(t *testing.T) {
	withSource := func(change func(*v1beta1.GitSource)) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) { change(website.Spec.Source.Git) }
	}
	ref := func(ref v1beta1.GitReference) func(*v1beta1.Website) {
		return withSource(func(s *v1beta1.GitSource) { s.Ref = &ref })
	}
	tests := map[string]struct {
		tweak func(*v1beta1.Website)
		want  []string
	}{
		"nothing said": {tweak: func(*v1beta1.Website) {},
			want: []string{"--ref=HEAD", "--period=60s", "--timeout=120s", "--submodules=None", "--index=index.html"}},
		"branch": {tweak: ref(v1beta1.GitReference{Branch: "main"}), want: []string{"--ref=refs/heads/main"}},
		"branch of letters": {tweak: ref(v1beta1.GitReference{Branch: "zweig/ä-日本"}),
			want: []string{"--ref=refs/heads/zweig/ä-日本"}},
		"tag":    {tweak: ref(v1beta1.GitReference{Tag: "v1.2"}), want: []string{"--ref=refs/tags/v1.2"}},
		"commit": {tweak: ref(v1beta1.GitReference{Commit: longCommit}), want: []string{"--ref=" + longCommit}},
		"full name": {tweak: ref(v1beta1.GitReference{Name: "refs/pull/1/head"}),
			want: []string{"--ref=refs/pull/1/head"}},
		"shallow submodules": {tweak: withSource(func(s *v1beta1.GitSource) { s.Submodules = v1beta1.SubmodulesShallow }),
			want: []string{"--submodules=Shallow"}},
		"all submodules": {tweak: withSource(func(s *v1beta1.GitSource) { s.Submodules = v1beta1.SubmodulesRecursive }),
			want: []string{"--submodules=Recursive"}},
		"path": {tweak: func(website *v1beta1.Website) { website.Spec.Source.Path = "docs/my site é" },
			want: []string{"--path=docs/my site é"}},
		"index": {tweak: func(website *v1beta1.Website) { website.Spec.Serving.Index = "start.htm" },
			want: []string{"--index=start.htm"}},
		"times": {
			tweak: func(website *v1beta1.Website) {
				website.Spec.Polling = v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 10,
					TimeoutSeconds: 30}
			},
			want: []string{"--period=10s", "--timeout=30s"},
		},
		"never polled": {
			tweak: func(website *v1beta1.Website) { website.Spec.Polling.Mode = v1beta1.PollingModeNever },
			want:  []string{"--period=0s", "--timeout=120s"},
		},
		"password": {
			tweak: withCredentials("https://example.com/site.git", v1beta1.SubmodulesNone, v1beta1.CredentialScopeRepository),
			want: []string{"--username-file=/etc/git-credentials/username", "--password-file=/etc/git-credentials/password",
				"--credential-scope=Repository"},
		},
		"password for the host": {
			tweak: withCredentials("https://example.com/site.git", v1beta1.SubmodulesRecursive, v1beta1.CredentialScopeHost),
			want:  []string{"--credential-scope=Host"},
		},
		"key": {
			tweak: withCredentials("git@example.com:site.git", v1beta1.SubmodulesNone, v1beta1.CredentialScopeRepository),
			want: []string{"--ssh-key-file=/etc/git-credentials/ssh-privatekey",
				"--ssh-known-hosts-file=/etc/git-credentials/known_hosts"},
		},
		"protected": {tweak: withUsers("readers"),
			want: []string{"--access-secret=/etc/access-secret", "--access-file=/access/users"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, container := mustContainer(t, GitSyncContainer, test.tweak)
			for _, want := range test.want {
				if !slices.Contains(container.Args, want) {
					t.Errorf("arguments = %q, want %q among them", container.Args, want)
				}
			}
			for i, arg := range container.Args {
				if name, value, _ := strings.Cut(arg, "="); i > 0 && (!strings.HasPrefix(name, "--") || value == "") {
					t.Errorf("%q is not of the form --name=value", arg)
				}
			}
			if len(container.Env) != 1 || *container.Env[0].Name != "WEBSITE_POD_UID" {
				t.Errorf("the environment is %+v", container.Env)
			}
		})
	}
}

// TestUnknownSources: a later version of the API has other values, with another meaning.
func TestUnknownSources(t *testing.T) {
	for name, tweak := range map[string]func(*v1beta1.Website){
		"no kind of source that is known": func(website *v1beta1.Website) { website.Spec.Source.Git = nil },
		"submodules":                      func(website *v1beta1.Website) { website.Spec.Source.Git.Submodules = "Some" },
		"polling":                         func(website *v1beta1.Website) { website.Spec.Polling.Mode = "Sometimes" },
	} {
		if _, err := Deployment(newWebsite(tweak), testInstallation, ""); err == nil ||
			!strings.Contains(err.Error(), "update website-controller") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withCredentials sets a private repository.
func withCredentials(repository string, submodules v1beta1.SubmodulePolicy,
	scope v1beta1.CredentialScope) func(*v1beta1.Website) {
	return func(site *v1beta1.Website) {
		site.Spec.Source = v1beta1.WebsiteSource{Git: &v1beta1.GitSource{
			Repository: repository, Submodules: submodules,
			SecretRef: &v1beta1.SecretReference{Name: "credentials"}, CredentialScope: scope,
		}}
	}
}

// TestCredentialsReachTheAgentOnly: they are in files that nginx cannot read.
func TestCredentialsReachTheAgentOnly(t *testing.T) {
	tests := map[string]struct {
		repository string
		wantKeys   []string
	}{
		"https": {repository: "https://example.com/site.git", wantKeys: []string{"username", "password"}},
		"ssh":   {repository: "git@example.com:site.git", wantKeys: []string{"ssh-privatekey", "known_hosts"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tweak := withCredentials(test.repository, v1beta1.SubmodulesNone, v1beta1.CredentialScopeRepository)
			pod, _ := mustContainer(t, GitSyncContainer, tweak)
			var keys []string
			for _, volume := range pod.Volumes {
				if *volume.Name == credentialsVolume {
					for _, item := range volume.Secret.Items {
						keys = append(keys, *item.Key)
					}
				}
			}
			if !slices.Equal(keys, test.wantKeys) {
				t.Errorf("mounted keys = %q, want %q", keys, test.wantKeys)
			}
			_, nginx := mustContainer(t, NginxContainer, tweak)
			for _, mount := range nginx.VolumeMounts {
				if *mount.Name == credentialsVolume {
					t.Error("nginx can read the credentials")
				}
			}
		})
	}
	_, container := mustContainer(t, GitSyncContainer)
	if slices.ContainsFunc(container.VolumeMounts,
		func(m corev1ac.VolumeMountApplyConfiguration) bool { return *m.Name == credentialsVolume }) {
		t.Error("credentials are mounted although the Website names none")
	}
}

func TestServiceFollowsTheSpec(t *testing.T) {
	tests := map[string]struct {
		service      v1beta1.WebsiteService
		wantType     corev1.ServiceType
		wantNodePort int32
	}{
		"by default": {service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
			wantType: corev1.ServiceTypeNodePort},
		"a port of choice": {service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort, NodePort: 30080},
			wantType: corev1.ServiceTypeNodePort, wantNodePort: 30080},
		"inside only": {service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP},
			wantType: corev1.ServiceTypeClusterIP},
		"load balancer": {service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeLoadBalancer},
			wantType: corev1.ServiceTypeLoadBalancer},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			service := Service(newWebsite(func(website *v1beta1.Website) { website.Spec.Service = test.service }))
			if *service.Spec.Type != test.wantType {
				t.Errorf("type = %s, want %s", *service.Spec.Type, test.wantType)
			}
			port := service.Spec.Ports[0]
			switch {
			case test.wantNodePort == 0 && port.NodePort != nil:
				t.Errorf("node port = %d, want it left to the API server", *port.NodePort)
			case test.wantNodePort != 0 && (port.NodePort == nil || *port.NodePort != test.wantNodePort):
				t.Errorf("node port = %v, want %d", port.NodePort, test.wantNodePort)
			}
		})
	}
}

func TestResourcesAndSchedulingFollowTheSpec(t *testing.T) {
	limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	tweak := func(website *v1beta1.Website) {
		website.Spec.Resources.Sync.Limits = limits
		website.Spec.Scheduling.NodeSelector = map[string]string{"disk": "ssd"}
		website.Spec.Scheduling.Tolerations = []corev1.Toleration{{Key: "web", Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoSchedule}}
	}
	pod, gitSync := mustContainer(t, GitSyncContainer, tweak)
	if got := (*gitSync.Resources.Limits)[corev1.ResourceMemory]; got.String() != "1Gi" {
		t.Errorf("resources of git-sync = %+v, want the limit of the Website", gitSync.Resources)
	}
	if _, nginx := mustContainer(t, NginxContainer, tweak); nginx.Resources.Requests == nil {
		t.Error("nginx lost its default requests")
	}
	if pod.NodeSelector["disk"] != "ssd" {
		t.Errorf("node selector = %v", pod.NodeSelector)
	}
	if len(pod.Tolerations) != 1 || *pod.Tolerations[0].Key != "web" || pod.Tolerations[0].Value != nil {
		t.Errorf("tolerations = %+v", pod.Tolerations)
	}
}
