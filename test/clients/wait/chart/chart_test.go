// Package chart compares the Helm chart with the kustomize manifests.
package chart

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func TestMain(m *testing.M) {
	// Helm logs each link: the chart has links to the manifests.
	slog.SetLogLoggerLevel(slog.LevelWarn)
	os.Exit(m.Run())
}

var artifacts = filepath.Join("..", "..", "..", "..", "artifacts")

// render returns the objects of the chart by kind and name, and those of its test hook.
func render(t *testing.T, namespace, values string) (objects, hooks map[string]any, err error) {
	t.Helper()
	chart, err := loader.LoadDir(filepath.Join(artifacts, "chart"))
	if err != nil {
		t.Fatal(err)
	}
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: "website", Namespace: namespace, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, given, release, common.DefaultCapabilities)
	if err != nil {
		return nil, nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, nil, err
	}
	objects, hooks = map[string]any{}, map[string]any{}
	for name, content := range files {
		switch {
		case strings.Contains(name, "/templates/tests/"):
			add(t, hooks, content)
		case strings.HasSuffix(name, ".yaml"):
			add(t, objects, content)
		}
	}
	return objects, hooks, nil
}

// build returns the objects of a kustomization by kind and name.
func build(t *testing.T, overlay string, components ...string) map[string]any {
	t.Helper()
	dir := t.TempDir()
	relative := func(path ...string) string {
		absolute, err := filepath.Abs(filepath.Join(append([]string{artifacts}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		result, err := filepath.Rel(dir, absolute)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	kustomization := map[string][]string{"resources": {relative(overlay)}}
	for _, component := range components {
		kustomization["components"] = append(kustomization["components"], relative("components", component))
	}
	content, err := yaml.Marshal(kustomization)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kustomization.yaml"), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]any{}
	add(t, objects, string(manifests))
	return objects
}

func add(t *testing.T, objects map[string]any, manifests string) {
	t.Helper()
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if len(object.Object) > 0 {
			objects[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
		}
	}
}

const registry = `
imagePullSecrets: [registry-credentials]
images:
  apiserver: registry.example.com/kubesites/website-apiserver:v0.1.0
  controller: registry.example.com/kubesites/website-controller:v0.1.0
  agent: registry.example.com/kubesites/website-agent:v0.1.0
  etcd: registry.example.com/kubesites/etcd:v3.6.8
  gitSync: registry.example.com/kubesites/git-sync:v4.7.1
  nginx: registry.example.com/kubesites/nginx-unprivileged:1.30.5-alpine
`

// TestChart compares the chart with the kustomize manifests object by object. Helm creates the
// namespace itself.
func TestChart(t *testing.T) {
	for name, test := range map[string]struct {
		values, overlay string
		components      []string
	}{
		"default":          {overlay: "default"},
		"ha":               {values: "ha: true", overlay: "ha"},
		"external etcd":    {values: "{ha: true, etcd: {external: true}}", overlay: "ha", components: []string{"external-etcd"}},
		"network-policies": {values: "networkPolicies: true", overlay: "default", components: []string{"network-policies"}},
		"monitoring":       {values: "monitoring: true", overlay: "default", components: []string{"monitoring"}},
		"cert-manager":     {values: "certManager: true", overlay: "default", components: []string{"cert-manager"}},
		"all":              {values: "{ha: true, certManager: true, monitoring: true, networkPolicies: true}", overlay: "ha", components: []string{"cert-manager", "monitoring", "network-policies"}},
		"registry":         {values: registry, overlay: "default", components: []string{"registry"}},
		"registry with ha": {values: "ha: true\n" + registry, overlay: "ha", components: []string{"registry"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, hooks, err := render(t, "website-system", test.values)
			if err != nil {
				t.Fatal(err)
			}
			want := build(t, test.overlay, test.components...)
			delete(want, "Namespace /website-system")
			for _, key := range slices.Sorted(maps.Keys(want)) {
				if !reflect.DeepEqual(got[key], want[key]) {
					t.Errorf("the chart has %s\n%v\nkustomize has\n%v", key, got[key], want[key])
				}
				delete(got, key)
			}
			if len(got) > 0 {
				t.Errorf("only the chart has %v", slices.Sorted(maps.Keys(got)))
			}
			if len(hooks) != 1 || hooks["Pod website-system/website-check"] == nil {
				t.Errorf("test hooks are %v", hooks)
			}
		})
	}
}

// TestValues sets values that kustomize has no component for, and rejects others.
func TestValues(t *testing.T) {
	for name, test := range map[string]struct{ values, object, want string }{
		"volume":     {"storage: {size: 20Gi, storageClassName: fast}", "StatefulSet website-system/website-apiserver", "storage: 20Gi storageClassName: fast"},
		"flags":      {"controller: {extraArgs: [--max-concurrent-rollouts=3]}", "Deployment website-system/website-controller", "- --nginx-image=$(NGINX_IMAGE) - --max-concurrent-rollouts=3 env:"},
		"resources":  {"apiserver: {resources: {limits: {memory: 3Gi}}}", "StatefulSet website-system/website-apiserver", "resources: limits: memory: 3Gi securityContext:"},
		"GOMEMLIMIT": {"controller: {goMemoryLimit: 3200MiB}", "Deployment website-system/website-controller", "name: GOMEMLIMIT value: 3200MiB"},
		"etcd":       {"{ha: true, etcd: {servers: [\"https://a:2379\", \"https://b:2379\"], secretName: mine}}", "Deployment website-system/website-apiserver", "name: ETCD_SERVERS value: https://a:2379,https://b:2379"},
		"secret":     {"{ha: true, etcd: {secretName: mine}}", "Deployment website-system/website-apiserver", "secretName: mine"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, _, err := render(t, "website-system", test.values)
			if err != nil {
				t.Fatal(err)
			}
			content, err := yaml.Marshal(objects[test.object])
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(strings.Fields(string(content)), " "); !strings.Contains(text, test.want) {
				t.Errorf("%s lacks %q: %s", test.object, test.want, text)
			}
		})
	}
	for name, test := range map[string]struct{ namespace, values, want string }{
		"another namespace":        {"default", "", "the namespace must be website-system"},
		"unknown value":            {"website-system", "replicas: 3", "additional properties 'replicas' not allowed"},
		"wrong type":               {"website-system", "ha: \"yes\"", "got string, want boolean"},
		"external etcd without ha": {"website-system", "etcd: {external: true}", "need ha"},
		"servers without ha":       {"website-system", "etcd: {servers: [\"https://a:2379\"]}", "need ha"},
		"etcd without TLS":         {"website-system", "etcd: {servers: [\"http://a:2379\"]}", "does not match pattern"},
		"image without a tag":      {"website-system", "images: {agent: agent}", "does not match pattern"},
		"size that is no number":   {"website-system", "storage: {size: large}", "does not match pattern"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := render(t, test.namespace, test.values); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("render = %v, want %q", err, test.want)
			}
		})
	}
}
