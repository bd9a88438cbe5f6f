package resources

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// typed turns an apply configuration into the API type. A field that the API
// type does not know fails the test.
func typed[T any](t *testing.T, applyConfiguration any) *T {
	t.Helper()
	data, err := json.Marshal(applyConfiguration)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	object := new(T)
	if err := decoder.Decode(object); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return object
}

func mustNginxConfig(t *testing.T, site *v1beta1.Website) string {
	t.Helper()
	config, err := NginxConfig(site, testInstallation)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func buildDeployment(t *testing.T, site *v1beta1.Website) *appsv1.Deployment {
	t.Helper()
	desired, err := Deployment(site, testInstallation, mustNginxConfig(t, site))
	if err != nil {
		t.Fatal(err)
	}
	return typed[appsv1.Deployment](t, desired)
}

func wantOwner() []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion:         "mycontroller.nevermosby.io/v1beta1",
		Kind:               "Website",
		Name:               "kubia",
		UID:                "uid-of-kubia",
		Controller:         ptr.To(true),
		BlockOwnerDeletion: ptr.To(true),
	}}
}

func TestService(t *testing.T) {
	got := typed[corev1.Service](t, Service(newWebsite()))
	want := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      "kubia-website-npsvc",
			Namespace: "default",
			Labels: map[string]string{
				"app":                          "website",
				"controller":                   "kubia",
				"app.kubernetes.io/name":       "website",
				"app.kubernetes.io/instance":   "kubia",
				"app.kubernetes.io/component":  "web-server",
				"app.kubernetes.io/managed-by": "website-controller",
			},
			OwnerReferences: wantOwner(),
		},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeNodePort,
			Selector: map[string]string{"mycontroller.nevermosby.io/deployment": "kubia-website"},
			Ports: []corev1.ServicePort{{
				Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromString("http"),
			}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("unexpected Service:\n%s", diff.Diff(want, got))
	}
}

func TestConfigMap(t *testing.T) {
	got := typed[corev1.ConfigMap](t, ConfigMap(newWebsite(), "the configuration"))
	want := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name:            "kubia-website-nginx-f12cd4b322ac370d",
			Namespace:       "default",
			Labels:          supportLabels(newWebsite()),
			OwnerReferences: wantOwner(),
		},
		Immutable: ptr.To(true),
		Data: map[string]string{
			"nginx.conf":      "the configuration",
			"http-ipv6.conf":  "listen [::]:8080 default_server;\n",
			"admin-ipv6.conf": "listen [::]:8081 default_server;\n",
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("unexpected ConfigMap:\n%s", diff.Diff(want, got))
	}
}

func TestDeployment(t *testing.T) {
	got := buildDeployment(t, newWebsite())

	labels := map[string]string{
		"app":                                   "website-nginx",
		"controller":                            "kubia",
		"mycontroller.nevermosby.io/deployment": "kubia-website",
		"app.kubernetes.io/name":                "website",
		"app.kubernetes.io/instance":            "kubia",
		"app.kubernetes.io/component":           "web-server",
		"app.kubernetes.io/managed-by":          "website-controller",
	}
	resourceList := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse(memory)}
	}
	securityContext := func(user int64) *corev1.SecurityContext {
		return &corev1.SecurityContext{
			RunAsNonRoot:             ptr.To(true),
			RunAsUser:                ptr.To(user),
			RunAsGroup:               ptr.To(user),
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
	}
	withStorage := func(list corev1.ResourceList, storage string) corev1.ResourceList {
		list[corev1.ResourceEphemeralStorage] = resource.MustParse(storage)
		return list
	}
	emptyDir := func(limit string) corev1.VolumeSource {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse(limit))}}
	}
	adminProbe := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString("admin"), Scheme: corev1.URISchemeHTTP,
		}}
	}
	spread := func(topologyKey string) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: topologyKey, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"mycontroller.nevermosby.io/deployment": "kubia-website"},
			},
			MatchLabelKeys: []string{"pod-template-hash"},
		}
	}
	want := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "kubia-website", Namespace: "default", Labels: labels, OwnerReferences: wantOwner(),
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:                ptr.To[int32](1),
			RevisionHistoryLimit:    ptr.To[int32](3),
			ProgressDeadlineSeconds: ptr.To[int32](600),
			Selector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"mycontroller.nevermosby.io/deployment": "kubia-website"},
			},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromString("25%")),
				},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels: labels,
					// Another test checks the hash.
					Annotations: got.Spec.Template.Annotations,
				},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken:  ptr.To(false),
					EnableServiceLinks:            ptr.To(false),
					TerminationGracePeriodSeconds: ptr.To[int64](30),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot:   ptr.To(true),
						FSGroup:        ptr.To[int64](65533),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					InitContainers: []corev1.Container{{
						Name:    "agent",
						Image:   "example.com/agent:3",
						Command: []string{"/website-agent"},
						Args:    []string{"install", "/agent/website-agent", "/nginx-tmp/requests"},
						Resources: corev1.ResourceRequirements{
							Requests: withStorage(resourceList("10m", "32Mi"), "256Mi"),
							Limits:   withStorage(resourceList("1", "256Mi"), "3424Mi"),
						},
						SecurityContext: securityContext(65533),
						VolumeMounts: []corev1.VolumeMount{
							{Name: "agent", MountPath: "/agent"},
							{Name: "nginx-tmp", MountPath: "/nginx-tmp"},
						},
					}, {
						Name:  "git-sync",
						Image: "example.com/git-sync:2",
						// This is a sidecar.
						RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
						Command:       []string{"/agent/website-agent"},
						Args: []string{
							"run",
							"--repository=https://github.com/nevermosby/kubia-website-example.git",
							"--ref=HEAD",
							"--submodules=None",
							"--index=index.html",
							"--revision=" + configHash(mustNginxConfig(t, newWebsite())),
							"--period=60s",
							"--timeout=120s",
							"--root=/git/repository",
							"--releases=/git/site",
							"--volume=/git",
							"--disk-budget=1932735283",
							"--config=/etc/website-agent",
							"--access-log=/nginx-tmp/requests",
							"--listen=:8082",
							"--status-listen=127.0.0.1:8083",
						},
						Env: []corev1.EnvVar{
							{
								Name: "WEBSITE_POD_UID", ValueFrom: &corev1.EnvVarSource{
									FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"},
								},
							},
						},
						Ports: []corev1.ContainerPort{{Name: "sync-metrics", ContainerPort: 8082, Protocol: corev1.ProtocolTCP}},
						Resources: corev1.ResourceRequirements{
							Requests: withStorage(resourceList("10m", "32Mi"), "256Mi"),
							Limits:   withStorage(resourceList("1", "256Mi"), "3424Mi"),
						},
						SecurityContext: securityContext(65533),
						VolumeMounts: []corev1.VolumeMount{
							{Name: "git", MountPath: "/git"},
							{Name: "git-sync-tmp", MountPath: "/tmp"},
							{Name: "agent", MountPath: "/agent", ReadOnly: true},
							{Name: "agent-config", MountPath: "/etc/website-agent", ReadOnly: true},
							{Name: "nginx-tmp", MountPath: "/nginx-tmp"},
						},
					}},
					Containers: []corev1.Container{{
						Name:    "nginx",
						Image:   "example.com/nginx:1",
						Command: []string{"nginx"},
						Args:    []string{"-e", "stderr", "-c", "/etc/website/nginx.conf"},
						Ports: []corev1.ContainerPort{
							{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
							{Name: "admin", ContainerPort: 8081, Protocol: corev1.ProtocolTCP},
						},
						StartupProbe: &corev1.Probe{
							ProbeHandler:  adminProbe("/readyz"),
							PeriodSeconds: 1, TimeoutSeconds: 2, FailureThreshold: 3600,
						},
						ReadinessProbe: &corev1.Probe{
							ProbeHandler:  adminProbe("/readyz"),
							PeriodSeconds: 5, TimeoutSeconds: 2, FailureThreshold: 3,
						},
						Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}},
						Resources: corev1.ResourceRequirements{
							Requests: resourceList("10m", "16Mi"), Limits: resourceList("1", "128Mi"),
						},
						SecurityContext: securityContext(101),
						VolumeMounts: []corev1.VolumeMount{
							{Name: "git", MountPath: "/site", SubPath: "site", ReadOnly: true},
							{Name: "nginx-config", MountPath: "/etc/website", ReadOnly: true},
							{Name: "nginx-tmp", MountPath: "/tmp"},
						},
					}},
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
						spread("kubernetes.io/hostname"), spread("topology.kubernetes.io/zone"),
					},
					Volumes: []corev1.Volume{
						{Name: "git", VolumeSource: emptyDir("2Gi")},
						{Name: "nginx-config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
							LocalObjectReference: corev1.LocalObjectReference{
								Name: ConfigMapName(newWebsite(), mustNginxConfig(t, newWebsite())),
							},
						}}},
						{Name: "nginx-tmp", VolumeSource: emptyDir("64Mi")},
						{Name: "git-sync-tmp", VolumeSource: emptyDir("256Mi")},
						{Name: "agent", VolumeSource: emptyDir("32Mi")},
						{Name: "agent-config",
							VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
								{ConfigMap: &corev1.ConfigMapProjection{
									LocalObjectReference: corev1.LocalObjectReference{Name: "website-agent-keys"}, Optional: ptr.To(true),
								}},
								{ConfigMap: &corev1.ConfigMapProjection{
									LocalObjectReference: corev1.LocalObjectReference{Name: "kubia-website-agent"}, Optional: ptr.To(true),
								}},
							}}}},
					},
				},
			},
		},
	}
	// They are compared as JSON, because a quantity keeps its original form.
	gotJSON, wantJSON := mustJSON(t, got), mustJSON(t, want)
	if gotJSON != wantJSON {
		t.Errorf("unexpected Deployment:\n%s", diff.Diff(wantJSON, gotJSON))
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDeploymentReplicas(t *testing.T) {
	for name, test := range map[string]struct {
		replicas *int32
		want     int32
	}{
		"unset":   {nil, 1},
		"zero":    {ptr.To[int32](0), 0},
		"several": {ptr.To[int32](7), 7},
	} {
		t.Run(name, func(t *testing.T) {
			got := buildDeployment(t, newWebsite(func(site *v1beta1.Website) { site.Spec.Replicas = test.replicas }))
			if got.Spec.Replicas == nil || *got.Spec.Replicas != test.want {
				t.Errorf("replicas = %v, want %d", got.Spec.Replicas, test.want)
			}
		})
	}
}

// TestConfigMapFollowsNginxConfig: each configuration has a ConfigMap of its own, to
// which the pod template refers.
func TestConfigMapFollowsNginxConfig(t *testing.T) {
	config := mustNginxConfig(t, newWebsite())
	configMap := typed[corev1.ConfigMap](t, ConfigMap(newWebsite(), config))
	var mounted []string
	for _, volume := range buildDeployment(t, newWebsite()).Spec.Template.Spec.Volumes {
		if volume.ConfigMap != nil {
			mounted = append(mounted, volume.ConfigMap.Name)
		}
	}
	if !reflect.DeepEqual(mounted, []string{configMap.Name}) {
		t.Errorf("the pods mount %q, the ConfigMap is %q", mounted, configMap.Name)
	}
	if another := typed[corev1.ConfigMap](t, ConfigMap(newWebsite(), config+"\n")); another.Name == configMap.Name {
		t.Errorf("another configuration is also called %q", another.Name)
	}
}

func TestSelectorsNeverChange(t *testing.T) {
	// The selector of a Deployment is immutable: with another selector, no existing Website could be
	// updated.
	want := map[string]string{"mycontroller.nevermosby.io/deployment": "kubia-website"}
	if got := buildDeployment(t, newWebsite()).Spec.Selector.MatchLabels; !reflect.DeepEqual(got, want) {
		t.Errorf("selector = %v, want %v", got, want)
	}
	if got := typed[corev1.Service](t, Service(newWebsite())).Spec.Selector; !reflect.DeepEqual(got, want) {
		t.Errorf("selector of the Service = %v, want %v", got, want)
	}
	want = map[string]string{"app": "website-nginx", "controller": "kubia"}
	if got := LegacyPodSelector(newWebsite()); !reflect.DeepEqual(got, want) {
		t.Errorf("selector of the original Deployments = %v, want %v", got, want)
	}
}

// TestServiceOfALoadBalancer: the Service has the class and the annotations of the spec.
func TestServiceOfALoadBalancer(t *testing.T) {
	website := newWebsite()
	website.Spec.Service = v1beta1.WebsiteService{Type: v1beta1.ServiceTypeLoadBalancer,
		LoadBalancerClass: "example.com/internal", Annotations: map[string]string{"example.com/a": "b"}}
	got := typed[corev1.Service](t, Service(website))
	if class := got.Spec.LoadBalancerClass; class == nil || *class != "example.com/internal" ||
		got.Annotations["example.com/a"] != "b" {
		t.Errorf("class %v and annotations %v, want those of the spec", class, got.Annotations)
	}
}

func TestAdminPortIsInNoService(t *testing.T) {
	for _, port := range typed[corev1.Service](t, Service(newWebsite())).Spec.Ports {
		if port.TargetPort != intstr.FromString("http") {
			t.Errorf("the Service exposes %v", port.TargetPort)
		}
	}
}

func TestBuildersDoNotChangeTheirInput(t *testing.T) {
	site, before := newWebsite(), newWebsite()
	config := mustNginxConfig(t, site)
	if _, err := Deployment(site, testInstallation, config); err != nil {
		t.Fatal(err)
	}
	ConfigMap(site, config)
	Service(site)
	if !reflect.DeepEqual(site, before) {
		t.Error("building the children changed the Website")
	}
}

func TestUnsafeRepositories(t *testing.T) {
	for name, repository := range map[string]string{
		"option":            "--upload-pack=touch /tmp/owned",
		"short option":      "-u",
		"empty":             "",
		"space":             "https://example.com/a b",
		"line feed":         "https://example.com/a\n--root=/",
		"nul":               "https://example.com/\x00",
		"next line control": "https://example.com/\u0085",
	} {
		t.Run(name, func(t *testing.T) {
			site := newWebsite(func(site *v1beta1.Website) { site.Spec.Source.Git.Repository = repository })
			if _, err := Deployment(site, testInstallation, ""); err == nil {
				t.Errorf("a Deployment was built for %q", repository)
			} else if !strings.Contains(err.Error(), "spec.source.git.repository") {
				t.Errorf("the error does not say which field to change: %v", err)
			}
		})
	}
	if err := checkGitArgument("the ref", "--upload-pack=id"); err == nil {
		t.Error("a ref that begins with a hyphen was accepted")
	}
}

func TestRepositoryIsOneArgument(t *testing.T) {
	for name, repository := range map[string]string{
		"https": "https://example.com/site.git",
		"ssh":   "ssh://git@example.com:2222/site.git",
		"scp":   "git@example.com:site.git",
		"odd":   "https://example.com/a,b;c=$(id)`id`&x",
	} {
		t.Run(name, func(t *testing.T) {
			site := newWebsite(func(site *v1beta1.Website) { site.Spec.Source.Git.Repository = repository })
			pod := buildDeployment(t, site).Spec.Template.Spec
			if !slices.Contains(expandAll(pod.InitContainers[1].Args, everyVariable), "--repository="+repository) {
				t.Errorf("--repository is not one argument: %q", pod.InitContainers[1].Args)
			}
		})
	}
}
