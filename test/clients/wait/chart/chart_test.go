// Package chart compares the Helm chart with the kustomize manifests.
package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

var artifacts = filepath.Join("..", "..", "..", "..", "artifacts")

// host is a cluster in which the chart looks up objects.
type host struct{ objects []runtime.Object }

// GetClientFor returns a client of the kind.
func (h host) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	group, err := schema.ParseGroupVersion(apiVersion)
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), h.objects...)
	return client.Resource(group.WithResource(strings.ToLower(kind) + "s")), true, err
}

// render returns the objects of the chart by kind and name, and its hooks.
func render(t *testing.T, namespace, values string, existing ...runtime.Object) (objects,
	hooks map[string]any, err error) {
	t.Helper()
	loaded, err := loader.LoadDir(filepath.Join(artifacts, "chart"))
	if err != nil {
		t.Fatal(err)
	}
	return renderChart(t, loaded, namespace, values, existing...)
}

func renderChart(t *testing.T, chart *chart.Chart, namespace, values string, existing ...runtime.Object) (objects,
	hooks map[string]any, err error) {
	t.Helper()
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: "website", Namespace: namespace, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, given, release, common.DefaultCapabilities)
	if err != nil {
		return nil, nil, err
	}
	files, err := engine.RenderWithClientProvider(chart, all, host{existing})
	if err != nil {
		return nil, nil, err
	}
	objects, hooks = map[string]any{}, map[string]any{}
	for name, content := range files {
		switch {
		case strings.Contains(name, "/templates/tests/"), strings.HasSuffix(name, "/uninstall.yaml"):
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
  apiserver: {repository: registry.example.com/kubesites/website-apiserver}
  controller: {repository: registry.example.com/kubesites/website-controller}
  agent: {repository: registry.example.com/kubesites/website-agent}
  etcd: {repository: registry.example.com/kubesites/etcd, tag: v3.6.8}
  gitSync: {repository: registry.example.com/kubesites/git-sync}
  nginx: {repository: registry.example.com/kubesites/nginx-unprivileged}
`

// ownLabels are the chart's additional labels, which the manifests lack.
var ownLabels = map[string]string{
	"app.kubernetes.io/instance": "website", "app.kubernetes.io/version": "v0.1.0",
	"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "website-0.1.0",
}

// removeOwnLabels removes them, and fails the test if an object lacks one.
func removeOwnLabels(t *testing.T, objects map[string]any) {
	t.Helper()
	for key, content := range objects {
		object := unstructured.Unstructured{Object: content.(map[string]any)}
		labels := object.GetLabels()
		for name, want := range ownLabels {
			if labels[name] != want {
				t.Errorf("%s has the label %s=%q, want %q", key, name, labels[name], want)
			}
			delete(labels, name)
		}
		object.SetLabels(labels)
	}
}

// TestChart compares the chart with the kustomize manifests object by object. Helm creates the
// namespace itself.
func TestChart(t *testing.T) {
	for name, test := range map[string]struct {
		values, overlay string
		components      []string
	}{
		"default": {overlay: "default"},
		"ha":      {values: "ha: true", overlay: "ha"},
		"external etcd": {values: "{ha: true, etcd: {external: true}}", overlay: "ha",
			components: []string{"external-etcd"}},
		"network-policies": {values: "networkPolicies: true", overlay: "default", components: []string{"network-policies"}},
		"monitoring":       {values: "monitoring: true", overlay: "default", components: []string{"monitoring"}},
		"cert-manager":     {values: "certManager: true", overlay: "default", components: []string{"cert-manager"}},
		"snapshots":        {values: "snapshots: {enabled: true}", overlay: "default", components: []string{"snapshots"}},
		"snapshots of ha": {values: "{ha: true, snapshots: {enabled: true}}", overlay: "ha",
			components: []string{"snapshots-etcd"}},
		"default-deny": {values: "defaultDeny: true", overlay: "default", components: []string{"default-deny"}},
		"static": {values: "staticRegistration: true", overlay: "default",
			components: []string{"static-registration"}},
		"openshift": {values: "openshift: true", overlay: "default", components: []string{"openshift"}},
		"openshift and ha": {
			values: "{ha: true, openshift: true, snapshots: {enabled: true}, staticRegistration: true}", overlay: "ha",
			components: []string{"snapshots-etcd", "static-registration", "openshift"},
		},
		"all": {values: "{ha: true, certManager: true, monitoring: true, networkPolicies: true}", overlay: "ha",
			components: []string{"cert-manager", "monitoring", "network-policies"}},
		"registry":         {values: registry, overlay: "default", components: []string{"registry"}},
		"registry with ha": {values: "ha: true\n" + registry, overlay: "ha", components: []string{"registry"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, hooks, err := render(t, "website-system", test.values)
			if err != nil {
				t.Fatal(err)
			}
			removeOwnLabels(t, got)
			removeOwnLabels(t, hooks)
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
			if len(hooks) != 2 || hooks["Pod website-system/website-check"] == nil ||
				hooks["Job website-system/website-uninstall"] == nil {
				t.Errorf("hooks are %v", hooks)
			}
		})
	}
}

// hookValues are values of website-apiserver, whose image the hooks run.
const hookValues = `
apiserver:
  extraArgs: [--v=4]
  env: [{name: A, value: B}]
  resources: {limits: {memory: 3Gi}}
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: [{key: infra, operator: Exists}]
  priorityClassName: system-cluster-critical
  podLabels: {team: web}
  podAnnotations: {example.com/a: b}
`

// TestValues sets values that have no counterpart in a kustomize component.
func TestValues(t *testing.T) {
	const server, controller, etcd = "StatefulSet website-system/website-apiserver",
		"Deployment website-system/website-controller", "StatefulSet website-system/website-etcd"
	for name, test := range map[string]struct{ values, object, want string }{
		"volume": {"storage: {size: 20Gi, storageClassName: fast}", server,
			"storage: 20Gi storageClassName: fast"},
		"flags": {"controller: {extraArgs: [--max-concurrent-rollouts=3]}", controller,
			"- --nginx-image=$(NGINX_IMAGE) - --max-concurrent-rollouts=3 env:"},
		"hosts": {"hostAuthorization: Warn", server, "- --host-authorization=Warn - --data-dir="},
		"hosts, ha": {"{ha: true, hostAuthorization: \"Off\"}", "Deployment website-system/website-apiserver",
			"- --host-authorization=Off - --etcd-servers="},
		"resources": {"apiserver: {resources: {limits: {memory: 3Gi, cpu: 2}}}", server,
			"resources: limits: cpu: 2 memory: 3Gi securityContext:"},
		"resources of etcd": {"{ha: true, etcd: {resources: {limits: {memory: 4Gi}}, goMemoryLimit: 3200MiB}}", etcd,
			"resources: limits: memory: 4Gi securityContext:"},
		"GOMEMLIMIT":         {"controller: {goMemoryLimit: 3200MiB}", controller, "name: GOMEMLIMIT value: 3200MiB"},
		"GOMEMLIMIT of etcd": {"{ha: true, etcd: {goMemoryLimit: 3200MiB}}", etcd, "name: GOMEMLIMIT value: 3200MiB"},
		"etcd": {"{ha: true, etcd: {servers: [\"https://a:2379\", \"https://b:2379\"], secretName: mine}}",
			"Deployment website-system/website-apiserver", "name: ETCD_SERVERS value: https://a:2379,https://b:2379"},
		"etcd of snapshots": {"{ha: true, snapshots: {enabled: true}, etcd: {servers: [\"https://a:2379\"], " +
			"secretName: mine}}", "CronJob website-system/website-store-snapshot", "name: ETCD_SERVERS value: https://a:2379"},
		"secret": {"{ha: true, etcd: {secretName: mine}}", "Deployment website-system/website-apiserver",
			"secretName: mine"},
		"volume of snapshots": {"snapshots: {enabled: true, size: 30Gi, storageClassName: slow}",
			"PersistentVolumeClaim website-system/website-store-backup", "storage: 30Gi storageClassName: slow"},
		"environment": {"apiserver: {env: [{name: HTTPS_PROXY, value: \"http://proxy:3128\"}]}", server,
			"value: 800MiB - name: HTTPS_PROXY value: http://proxy:3128"},
		"nodes": {"controller: {nodeSelector: {kubernetes.io/os: linux}}", controller,
			"nodeSelector: kubernetes.io/os: linux"},
		"tolerations": {"apiserver: {tolerations: [{key: infra, operator: Exists}]}", server,
			"tolerations: - key: infra operator: Exists"},
		"affinity": {"{ha: true, etcd: {affinity: {nodeAffinity: {}}}}", etcd,
			"spec: affinity: nodeAffinity: {} automountServiceAccountToken"},
		"spread": {"controller: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, " +
			"whenUnsatisfiable: ScheduleAnyway}]}", controller, "topologySpreadConstraints: - maxSkew: 1"},
		"priority": {"apiserver: {priorityClassName: system-cluster-critical}", server,
			"priorityClassName: system-cluster-critical"},
		"labels of pods": {"apiserver: {podLabels: {team: web, app.kubernetes.io/name: other}}", server,
			"labels: app.kubernetes.io/name: website-apiserver team: web spec:"},
		"annotations of pods": {"controller: {podAnnotations: {example.com/a: b}}", controller,
			"annotations: example.com/a: b labels:"},
		"labels": {"commonLabels: {team: web}", "Service website-system/website-apiserver",
			"helm.sh/chart: website-0.1.0 team: web"},
		"annotations": {"commonAnnotations: {example.com/a: b}",
			"ServiceAccount website-system/website-controller", "annotations: example.com/a: b"},
		"labels of the hook": {"commonLabels: {team: web}", "Job website-system/website-uninstall", "team: web"},
		"labels of monitors": {"{monitoring: true, monitorLabels: {release: prometheus}}",
			"ServiceMonitor website-system/website-controller", "release: prometheus name:"},
		"labels of rules": {"{monitoring: true, monitorLabels: {release: prometheus}}",
			"PrometheusRule website-system/website-system", "release: prometheus name:"},
		"repository": {"images: {apiserver: {repository: \"registry.example.com:5000/server\"}}", server,
			"image: registry.example.com:5000/server:v0.1.0"},
		"tag": {"images: {controller: {tag: v0.2.0}}", controller,
			"image: ghcr.io/kubesites/website-controller:v0.2.0"},
		"digest": {"images: {agent: {digest: \"sha256:" + digest + "\"}}", controller,
			"value: ghcr.io/kubesites/website-agent@sha256:" + digest},
		"tag and digest": {"images: {nginx: {tag: \"1.31\", digest: \"sha256:" + digest + "\"}}", controller,
			"value: docker.io/nginxinc/nginx-unprivileged:1.31@sha256:" + digest},
		"nodes of the hook": {hookValues, "Job website-system/website-uninstall",
			"nodeSelector: kubernetes.io/os: linux priorityClassName: system-cluster-critical"},
		"tolerations, the hook": {hookValues, "Job website-system/website-uninstall",
			"tolerations: - key: infra operator: Exists"},
		"pods of the hook": {hookValues, "Job website-system/website-uninstall",
			"annotations: example.com/a: b labels: app.kubernetes.io/name: website-uninstall team: web spec:"},
		"flags of the hook": {hookValues, "Job website-system/website-uninstall", "- args: - uninstall image: " +
			"ghcr.io/kubesites/website-apiserver:v0.1.0 name: uninstall resources: limits: memory: 128Mi"},
		"nodes of the test": {hookValues, "Pod website-system/website-check",
			"nodeSelector: kubernetes.io/os: linux priorityClassName: system-cluster-critical"},
		"tolerations, the test": {hookValues, "Pod website-system/website-check",
			"tolerations: - key: infra operator: Exists"},
		"labels of the test": {hookValues, "Pod website-system/website-check", "app.kubernetes.io/name: website-check " +
			"app.kubernetes.io/part-of: website app.kubernetes.io/version: v0.1.0 helm.sh/chart: website-0.1.0 team: web"},
		"flags of the test": {hookValues, "Pod website-system/website-check",
			"- args: - check image: ghcr.io/kubesites/website-apiserver:v0.1.0 name: check resources: limits: memory: 128Mi"},
		"IDs of the test": {"openshift: true", "Pod website-system/website-check",
			"securityContext: runAsNonRoot: true seccompProfile:"},
		"image of the hook": {"images: {apiserver: {tag: v0.2.0}}", "Job website-system/website-uninstall",
			"image: ghcr.io/kubesites/website-apiserver:v0.2.0"},
		"image of the test": {"images: {apiserver: {tag: v0.2.0}}", "Pod website-system/website-check",
			"image: ghcr.io/kubesites/website-apiserver:v0.2.0"},
		"image of etcd": {"{ha: true, images: {etcd: {tag: v3.6.9}}}", etcd,
			"image: gcr.io/etcd-development/etcd:v3.6.9"},
		"image of certificates": {"{ha: true, images: {apiserver: {tag: v0.2.0}}}",
			"Deployment website-system/website-etcd-certificates", "image: ghcr.io/kubesites/website-apiserver:v0.2.0"},
		"a hook before deletion": {"", "Job website-system/website-uninstall", "helm.sh/hook: pre-delete"},
		"a hook of Argo CD":      {"", "Job website-system/website-uninstall", "argocd.argoproj.io/hook: PreDelete"},
		"a kept volume": {"snapshots: {enabled: true}", "PersistentVolumeClaim website-system/website-store-backup",
			"helm.sh/resource-policy: keep"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, hooks, err := render(t, "website-system", test.values)
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(objects, hooks)
			content, err := yaml.Marshal(objects[test.object])
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(strings.Fields(string(content)), " "); !strings.Contains(text, test.want) {
				t.Errorf("%s lacks %q: %s", test.object, test.want, text)
			}
		})
	}
}

var digest = strings.Repeat("0a", 32)

func TestRejectedValues(t *testing.T) {
	for name, test := range map[string]struct{ namespace, values, want string }{
		"another namespace": {"default", "", "the namespace must be website-system"},
		"unknown value":     {"website-system", "replicas: 3", "additional properties 'replicas' not allowed"},
		"wrong type":        {"website-system", "ha: \"yes\"", "got string, want boolean"},
		"hosts, a boolean": {"website-system", "hostAuthorization: Off",
			"value must be one of 'Off', 'Warn', 'Enforce'"},
		"external etcd without ha": {"website-system", "etcd: {external: true}", "need ha"},
		"servers without ha":       {"website-system", "etcd: {servers: [\"https://a:2379\"]}", "need ha"},
		"etcd without TLS":         {"website-system", "etcd: {servers: [\"http://a:2379\"]}", "does not match pattern"},
		"a tag in the repository": {"website-system", "images: {agent: {repository: \"agent:v1\"}}",
			"does not match pattern"},
		"a digest without a hash": {"website-system", "images: {agent: {digest: \"0a\"}}", "does not match pattern"},
		"size that is no number":  {"website-system", "storage: {size: large}", "does not match pattern"},
		"memory that is no number": {"website-system", "apiserver: {resources: {limits: {memory: 4 Gi}}}",
			"does not match pattern"},
		"negative cpu":             {"website-system", "controller: {resources: {requests: {cpu: -1}}}", "minimum"},
		"no images":                {"website-system", "images: null", "missing property 'images'"},
		"no image":                 {"website-system", "images: {nginx: null}", "missing property 'nginx'"},
		"no storage":               {"website-system", "storage: null", "missing property 'storage'"},
		"no size":                  {"website-system", "storage: {size: null}", "missing property 'size'"},
		"no apiserver":             {"website-system", "apiserver: null", "missing property 'apiserver'"},
		"a label that is a number": {"website-system", "commonLabels: {team: 1}", "got number, want string"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := render(t, test.namespace, test.values); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("render = %v, want %q", err, test.want)
			}
		})
	}
}

// TestStorageSize: the claims of a StatefulSet are immutable, and kube-apiserver's error does not
// tell how to proceed.
func TestStorageSize(t *testing.T) {
	existing := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: website-apiserver, namespace: website-system}
spec:
  volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 8Gi}}}}]
`), &existing.Object); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[string]string{"8Gi": "", "8192Mi": "",
		"20Gi": "storage.size is 20Gi, and the claims of StatefulSet website-apiserver are made with 8Gi"} {
		_, _, err := render(t, "website-system", "storage: {size: "+size+"}", existing)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("with %s, render = %v, want %q", size, err, want)
		}
	}
}

// TestLint runs helm lint on the chart with values of each kind.
func TestLint(t *testing.T) {
	for _, values := range []string{"", "ha: true", "{ha: true, certManager: true, monitoring: true, defaultDeny: true, " +
		"snapshots: {enabled: true}, staticRegistration: true, openshift: true}"} {
		var given map[string]any
		if err := yaml.Unmarshal([]byte(values), &given); err != nil {
			t.Fatal(err)
		}
		result := lint.RunAll(filepath.Join(artifacts, "chart"), given, "website-system")
		for _, message := range result.Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("with %q: %s", values, message)
			}
		}
	}
}

// TestArchive packs the chart as Flux does, without symbolic links, and renders it.
func TestArchive(t *testing.T) {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	root := filepath.Join(artifacts, "chart")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if err := files.WriteHeader(&tar.Header{Name: "website/" + filepath.ToSlash(name), Mode: 0o644,
			Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = files.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	loaded, err := loader.LoadArchive(&archive)
	if err != nil {
		t.Fatal(err)
	}
	const values = "{ha: true, certManager: true, monitoring: true, networkPolicies: true}"
	got, _, err := renderChart(t, loaded, "website-system", values)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := render(t, "website-system", values)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the archive renders %v, the directory %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}
