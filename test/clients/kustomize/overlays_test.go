package kustomize

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/controller/images"
)

// artifacts is the directory of the manifests.
var artifacts = filepath.Join("..", "..", "..", "artifacts")

// overlays returns the kustomizations that administrators install: directories
// of artifacts, and a kustomization of its own for each component.
func overlays(t *testing.T) map[string][]byte {
	t.Helper()
	built := map[string][]byte{}
	for _, name := range []string{"default", "ha", "network-policies"} {
		built[name] = buildDirectory(t, filepath.Join(artifacts, name))
	}
	components, err := os.ReadDir(filepath.Join(artifacts, "components"))
	if err != nil || len(components) == 0 {
		t.Fatalf("components: %v, %v", components, err)
	}
	for _, component := range components {
		for _, name := range []string{"default", "ha"} {
			built[name+" with "+component.Name()] = buildWith(t, name, component.Name())
		}
	}
	return built
}

// buildWith builds a kustomization of an overlay with a component.
func buildWith(t *testing.T, overlay string, components ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	relative := func(elements ...string) string {
		absolute, err := filepath.Abs(filepath.Join(append([]string{artifacts}, elements...)...))
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.Rel(dir, absolute)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	var paths []string
	for _, component := range components {
		paths = append(paths, relative("components", component))
	}
	kustomization := fmt.Sprintf("resources: [%s]\ncomponents: [%s]\n", relative(overlay), strings.Join(paths, ", "))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		t.Fatal(err)
	}
	return buildDirectory(t, dir)
}

func buildDirectory(t *testing.T, dir string) []byte {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("building %s: %v", dir, err)
	}
	manifests, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

// foreign are the foreign API groups that components use. kube-apiserver checks these objects
// in test/install, with the definitions of test/crds.
var foreign = []string{"cert-manager.io", "monitoring.coreos.com", "apiregistration.k8s.io"}

// decode decodes manifests strictly: an unknown field is an error.
func decode(t *testing.T, manifests []byte) []runtime.Object {
	t.Helper()
	var objects []runtime.Object
	for _, document := range bytes.Split(manifests, []byte("\n---\n")) {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(document, &meta); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(foreign, meta.GroupVersionKind().Group) {
			continue
		}
		object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			t.Errorf("%s: %v", kind.Kind, err)
		}
		objects = append(objects, object)
	}
	return objects
}

func TestOverlays(t *testing.T) {
	for name, manifests := range overlays(t) {
		t.Run(name, func(t *testing.T) {
			for _, forbidden := range []string{"insecureSkipTLSVerify", "cluster-admin", ":latest"} {
				if bytes.Contains(manifests, []byte(forbidden)) {
					t.Errorf("the manifests have %s", forbidden)
				}
			}
			checkLabels(t, manifests)
			for _, object := range decode(t, manifests) {
				switch o := object.(type) {
				case *appsv1.Deployment:
					checkPod(t, o.Name, o.Spec.Template, strings.HasSuffix(name, " host-network"))
				case *appsv1.StatefulSet:
					checkPod(t, o.Name, o.Spec.Template, strings.HasSuffix(name, " host-network"))
					if o.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
						t.Errorf("%s waits for a pod that never gets ready", o.Name)
					}
				case *batchv1.CronJob:
					checkRestricted(t, o.Name, o.Spec.JobTemplate.Spec.Template)
				case *batchv1.Job:
					checkRestricted(t, o.Name, o.Spec.Template)
				case *rbacv1.ClusterRole:
					checkRules(t, o.Name, o.Rules)
				case *rbacv1.Role:
					checkRules(t, o.Name, o.Rules)
				case *corev1.Secret:
					// kube-controller-manager fills the Secret of a token.
					if o.Type != corev1.SecretTypeServiceAccountToken || len(o.Data)+len(o.StringData) > 0 {
						t.Errorf("Secret %s is in the manifests", o.Name)
					}
				}
			}
		})
	}
}

// checkLabels checks that every object has the labels of its component. The policies of artifacts/network-policies
// are left out, as users edit them.
func checkLabels(t *testing.T, manifests []byte) {
	t.Helper()
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		if object.Name != "websites" && (object.Labels["app.kubernetes.io/name"] == "" ||
			object.Labels["app.kubernetes.io/part-of"] != "website") {
			t.Errorf("%s %s has the labels %v", object.Kind, object.Name, object.Labels)
		}
	}
}

// checkRestricted checks that Pod Security "restricted" permits a pod.
func checkRestricted(t *testing.T, name string, template corev1.PodTemplateSpec) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec) {
		if !result.Allowed {
			t.Errorf("%s: restricted: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
}

// checkPod checks the requirements of every pod of the installation. Only website-apiserver
// may use the host's network, in the component for that.
func checkPod(t *testing.T, name string, template corev1.PodTemplateSpec, hostNetwork bool) {
	t.Helper()
	if hostNetwork && name == "website-apiserver" {
		if !template.Spec.HostNetwork {
			t.Errorf("%s is not in the network of its node", name)
		}
		template.Spec.HostNetwork = false
	}
	checkRestricted(t, name, template)
	spec := template.Spec
	if spec.ServiceAccountName != name || spec.PriorityClassName != "website-system" ||
		spec.TerminationGracePeriodSeconds == nil {
		t.Errorf("%s: ServiceAccount %q, priority class %q, grace period %v", name, spec.ServiceAccountName,
			spec.PriorityClassName, spec.TerminationGracePeriodSeconds)
	}
	for _, container := range spec.Containers {
		if _, tag, ok := strings.Cut(container.Image, ":"); !ok || !strings.HasPrefix(tag, "v") {
			t.Errorf("%s: image %s has no version", name, container.Image)
		}
		if c := container.SecurityContext; c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
			t.Errorf("%s: the root file system can be written", name)
		}
		// A container without ports has nothing to probe.
		if len(container.Ports) > 0 && (container.LivenessProbe == nil || container.ReadinessProbe == nil ||
			container.StartupProbe == nil) {
			t.Errorf("%s: a probe is missing", name)
		}
		requests, limit := container.Resources.Requests, container.Resources.Limits.Memory()
		if requests.Cpu().IsZero() || requests.Memory().IsZero() || limit.IsZero() {
			t.Errorf("%s: resources are %+v", name, container.Resources)
		}
		checkGoMemory(t, name, container.Env, limit)
	}
}

// checkGoMemory checks that Go collects garbage before the limit of memory is reached.
func checkGoMemory(t *testing.T, name string, env []corev1.EnvVar, limit *resource.Quantity) {
	t.Helper()
	i := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == "GOMEMLIMIT" })
	if i < 0 {
		t.Errorf("%s: GOMEMLIMIT is not set", name)
		return
	}
	memory, err := resource.ParseQuantity(strings.TrimSuffix(env[i].Value, "B"))
	if err != nil || memory.Cmp(*limit) >= 0 || memory.Value()*2 < limit.Value() {
		t.Errorf("%s: GOMEMLIMIT is %s, %v, and the limit %s", name, env[i].Value, err, limit)
	}
}

// checkRules checks that roles list resources and verbs without wildcards, and Secrets by name.
func checkRules(t *testing.T, name string, rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, rule := range rules {
		for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
			if slices.Contains(list, "*") {
				t.Errorf("role %s has a wildcard: %+v", name, rule)
			}
		}
		if slices.Contains(rule.Resources, "secrets") && len(rule.ResourceNames) == 0 &&
			!slices.Equal(rule.Verbs, []string{"create"}) {
			t.Errorf("role %s permits %v of all Secrets", name, rule.Verbs)
		}
	}
}

// TestOpenShift: the platform assigns user and group IDs, and rejects pods that request others.
func TestOpenShift(t *testing.T) {
	for _, overlay := range []string{"default", "ha"} {
		jobs := 0
		for _, object := range decode(t, buildWith(t, overlay, "argo-cd", "openshift")) {
			var spec corev1.PodSpec
			switch o := object.(type) {
			case *appsv1.Deployment:
				spec = o.Spec.Template.Spec
			case *appsv1.StatefulSet:
				spec = o.Spec.Template.Spec
			case *batchv1.Job:
				jobs++
				spec = o.Spec.Template.Spec
			default:
				continue
			}
			if c := spec.SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || c.FSGroup != nil ||
				c.RunAsNonRoot == nil || !*c.RunAsNonRoot {
				t.Errorf("%s: the pods of %s have %+v", overlay, spec.ServiceAccountName, c)
			}
			assigned := slices.Contains(spec.Containers[0].Args, "--platform-assigns-user-ids")
			if assigned != (spec.ServiceAccountName == "website-controller") {
				t.Errorf("%s: the arguments of %s are %q", overlay, spec.ServiceAccountName, spec.Containers[0].Args)
			}
		}
		if jobs != 1 {
			t.Errorf("%s: there are %d Jobs, want argo-cd's", overlay, jobs)
		}
	}
}

// TestStaticRegistration: the server updates the APIServices, and has no permission to create any.
func TestStaticRegistration(t *testing.T) {
	manifests := buildWith(t, "default", "static-registration")
	for _, object := range decode(t, manifests) {
		switch o := object.(type) {
		case *appsv1.StatefulSet:
			if !slices.Contains(o.Spec.Template.Spec.Containers[0].Args, "--create-api-services=false") {
				t.Errorf("the arguments are %q", o.Spec.Template.Spec.Containers[0].Args)
			}
		case *rbacv1.ClusterRole:
			for _, rule := range o.Rules {
				if slices.Contains(rule.Resources, "apiservices") && slices.Contains(rule.Verbs, "create") {
					t.Errorf("role %s permits %+v", o.Name, rule)
				}
			}
		}
	}
	if n := bytes.Count(manifests, []byte("\nkind: APIService\n")); n != 2 {
		t.Errorf("there are %d APIServices, want one for each version", n)
	}
}

// Images are replaced in one place, also for the pods of Websites.
func TestImages(t *testing.T) {
	product := sets.New(images.APIServer, images.Controller, images.Agent, images.GitSync, images.Nginx)
	if got := imagesOf(t, buildDirectory(t, filepath.Join(artifacts, "default"))); !got.Equal(product) {
		t.Errorf("images are %v, want %v", sets.List(got), sets.List(product))
	}
	private := sets.New[string]()
	for image := range product {
		private.Insert("registry.example.com/kubesites/" + image[strings.LastIndex(image, "/")+1:])
	}
	manifests := buildWith(t, "default", "registry")
	if got := imagesOf(t, manifests); !got.Equal(private) {
		t.Errorf("with the component, images are %v, want %v", sets.List(got), sets.List(private))
	}
	accounts := map[string][]corev1.LocalObjectReference{}
	for _, object := range decode(t, manifests) {
		if account, ok := object.(*corev1.ServiceAccount); ok {
			accounts[account.Name] = account.ImagePullSecrets
		}
	}
	want := []corev1.LocalObjectReference{{Name: "registry-credentials"}}
	if !maps.EqualFunc(accounts, map[string][]corev1.LocalObjectReference{"website-apiserver": want,
		"website-controller": want},
		func(a, b []corev1.LocalObjectReference) bool { return slices.Equal(a, b) }) {
		t.Errorf("pull secrets of ServiceAccounts are %v", accounts)
	}
}

// imagesOf returns the images of containers and in variables of website-controller.
func imagesOf(t *testing.T, manifests []byte) sets.Set[string] {
	t.Helper()
	found := sets.New[string]()
	for _, object := range decode(t, manifests) {
		var spec corev1.PodSpec
		switch o := object.(type) {
		case *appsv1.Deployment:
			spec = o.Spec.Template.Spec
		case *appsv1.StatefulSet:
			spec = o.Spec.Template.Spec
		}
		for _, container := range spec.Containers {
			found.Insert(container.Image)
			for _, v := range container.Env {
				if strings.HasSuffix(v.Name, "_IMAGE") {
					found.Insert(v.Value)
					if flag := "-image=$(" + v.Name + ")"; !slices.ContainsFunc(container.Args,
						func(arg string) bool { return strings.HasSuffix(arg, flag) }) {
						t.Errorf("no flag of %s has the value of %s", container.Name, v.Name)
					}
				}
			}
		}
	}
	return found
}
