package wait

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/ssa"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// applier applies a manifest with a client. With again, it returns an error if the client finds a difference.
type applier func(s *site, again bool) error

var appliers = map[string]applier{
	"kubectl": applyWithKubectl, "kubectl, server-side": applyServerSide, "Flux": applyWithFlux,
}

// site is a manifest with a client of the server that stores it.
type site struct {
	t        *testing.T
	server   *framework.Server
	direct   client.Client
	manifest *unstructured.Unstructured
}

// TestEveryFieldTwice applies Websites with every field by each client, twice: the second time, the client finds no
// difference and nothing is written. No controller writes to the store of this server.
func TestEveryFieldTwice(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	server := framework.NewServer(t, "--allowed-service-annotations=example.com/*")
	direct, err := client.New(server.Config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, website := range framework.EveryField(namespace) {
		t.Run(website.Name, func(t *testing.T) {
			s := &site{t, server, direct, manifestOf(t, website)}
			for name, apply := range appliers {
				if err := apply(s, false); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				before := s.stored().GetResourceVersion()
				if err := apply(s, true); err != nil {
					t.Errorf("%s, again: %v", name, err)
				}
				if after := s.stored().GetResourceVersion(); after != before {
					t.Errorf("%s, again: the resource version was %s, and is %s", name, before, after)
				}
			}
			s.compareAsArgoCD()
		})
	}
}

func (s *site) stored() *unstructured.Unstructured {
	s.t.Helper()
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(s.manifest.GroupVersionKind())
	if err := s.direct.Get(s.t.Context(), client.ObjectKeyFromObject(s.manifest), stored); err != nil {
		s.t.Fatal(err)
	}
	return stored
}

// manifestOf returns a Website as users write it: without empty fields and status.
func manifestOf(t *testing.T, website *v1beta1.Website) *unstructured.Unstructured {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(website)
	if err != nil {
		t.Fatal(err)
	}
	delete(object, "status")
	unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: object}
}

func (s *site) kubectl(args ...string) (string, error) {
	manifest := string(encode(s.t, s.manifest.Object))
	args = append(args, "--server="+s.server.URL, "-f", "-")
	stdout, stderr, err := framework.Cluster.KubectlWith(s.t.Context(), framework.Stdin(manifest), args...)
	if err != nil {
		err = fmt.Errorf("%w: %s%s", err, stdout, stderr)
	}
	return stdout, err
}

func applyWithKubectl(s *site, again bool) error {
	stdout, err := s.kubectl("apply")
	if err == nil && again && !strings.HasSuffix(stdout, " unchanged\n") {
		err = fmt.Errorf("kubectl apply printed %s", stdout)
	}
	if err == nil && again {
		_, err = s.kubectl("diff")
	}
	return err
}

func applyServerSide(s *site, again bool) error {
	_, err := s.kubectl("apply", "--server-side", "--force-conflicts")
	if err == nil && again {
		_, err = s.kubectl("diff", "--server-side", "--force-conflicts")
	}
	return err
}

// applyWithFlux applies as kustomize-controller does.
func applyWithFlux(s *site, again bool) error {
	owner := ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"}
	manager := ssa.NewResourceManager(s.direct, nil, owner)
	if again {
		entry, existing, merged, err := manager.Diff(s.t.Context(), s.manifest.DeepCopy(), ssa.DefaultDiffOptions())
		if err != nil {
			return err
		}
		if entry.Action != ssa.UnchangedAction {
			return fmt.Errorf("the object is %s: %v becomes %v", entry.Action, existing, merged)
		}
	}
	entry, err := manager.Apply(s.t.Context(), s.manifest.DeepCopy(), ssa.DefaultApplyOptions())
	if err == nil && again && entry.Action != ssa.UnchangedAction {
		err = fmt.Errorf("the object is %s", entry.Action)
	}
	return err
}

// compareAsArgoCD compares a manifest that kubectl has applied, and one with the same quantities in other notations,
// with the stored Website as Argo CD does by default. It repeats the few steps of gitops-engine's diff for a kind
// that is not compiled in, because that package links k8s.io/kubernetes v1.36, which does not compile with k8s.io/api
// v0.37. Argo CD's other methods, server-side and structured merge diff, compare as Flux and server-side apply do.
func (s *site) compareAsArgoCD() {
	t := s.t
	applied, reworded := s.manifest.DeepCopy(), s.manifest.DeepCopy()
	if limits, found, _ := unstructured.NestedMap(s.manifest.Object, "spec", "resources", "server", "limits"); found {
		limits["cpu"] = "1000m"
		setNested(t, reworded, limits, "spec", "resources", "server", "limits")
		setNested(t, reworded, "2048Mi", "spec", "storage", "sizeLimit")
	}
	for _, config := range []*unstructured.Unstructured{applied, reworded} {
		live, last := s.stored(), &unstructured.Unstructured{}
		annotation := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
		if err := json.Unmarshal([]byte(annotation), &last.Object); err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(last.Object, "metadata", "annotations")
		for _, object := range []*unstructured.Unstructured{config, live, last} {
			normalizeQuantities(t, object)
		}
		own := withoutOthers(last.Object, live.Object)
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(
			encode(t, last.Object), encode(t, config.Object), encode(t, own))
		if err != nil || string(patch) != "{}" {
			t.Errorf("Argo CD finds the difference %s, %v", patch, err)
		}
	}
}

// withoutOthers returns live without the fields that config lacks, also in the items of lists.
func withoutOthers(config, live any) any {
	switch config := config.(type) {
	case map[string]any:
		if stored, isMap := live.(map[string]any); isMap {
			kept := map[string]any{}
			for key, value := range stored {
				if wanted, found := config[key]; found {
					kept[key] = withoutOthers(wanted, value)
				}
			}
			return kept
		}
	case []any:
		if stored, isList := live.([]any); isList {
			for i := range min(len(stored), len(config)) {
				stored[i] = withoutOthers(config[i], stored[i])
			}
		}
	}
	return live
}

// normalizeQuantities converts the fields in the shipped configuration of Argo CD to Kubernetes'
// canonical form.
func normalizeQuantities(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(framework.Path("artifacts", "clients", "argocd", "argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var configMap struct{ Data map[string]string }
	var fields []struct{ Field, Type string }
	if err := yaml.UnmarshalStrict(data, &configMap); err != nil {
		t.Fatal(err)
	}
	customization := configMap.Data["resource.customizations.knownTypeFields.mycontroller.nevermosby.io_Website"]
	if err := yaml.UnmarshalStrict([]byte(customization), &fields); err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		path := strings.Split(field.Field, ".")
		value, found, err := unstructured.NestedFieldCopy(object.Object, path...)
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			continue
		}
		var typed any = &resource.Quantity{}
		if field.Type == "core/v1/ResourceRequirements" {
			typed = &corev1.ResourceRequirements{}
		}
		var normalized any
		if err := json.Unmarshal(encode(t, value), typed); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encode(t, typed), &normalized); err != nil {
			t.Fatal(err)
		}
		setNested(t, object, normalized, path...)
	}
}

func setNested(t *testing.T, object *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
