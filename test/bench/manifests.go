package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// object is the content of a manifest.
type object = map[string]any

// manifest builds the objects of one API. Each of them has all settings of a Website.
type manifest struct {
	apiVersion, kind string
	// spec are the members beside metadata, for an object of this name.
	spec func(name string) object
	// annotations are the annotations of every object.
	annotations object
	// status is the status that a controller reports; nil: the API has no status. grown is padding of that size, as a
	// merge patch.
	status, grown object
	// changed is a change of the spec, as a merge patch and for server-side apply.
	changed object
	// typed is an empty object of the type, for protobuf.
	typed func() runtime.Object
}

// padding is the number of characters that make an object as large as a new Website, and as one with its status.
type padding struct{ created, reported int }

// text returns that many characters.
func text(n int) string { return strings.Repeat("x", n) }

// build returns a new object.
func (m manifest) build(name string) object {
	metadata := object{"name": name}
	if m.annotations != nil {
		metadata["annotations"] = m.annotations
	}
	o := object{"apiVersion": m.apiVersion, "kind": m.kind, "metadata": metadata}
	maps.Copy(o, m.spec(name))
	return o
}

// encode returns an object as the body of a request of this media type.
func (m manifest) encode(o object, media string) ([]byte, error) {
	data, err := json.Marshal(o)
	if err != nil || media != measure.Protobuf {
		return data, err
	}
	typed := m.typed()
	if err := json.Unmarshal(data, typed); err != nil {
		return nil, fmt.Errorf("decoding a %s: %w", m.kind, err)
	}
	var encoded bytes.Buffer
	// Encoding needs no scheme: the object names its type.
	if err := protobuf.NewSerializer(nil, nil).Encode(typed, &encoded); err != nil {
		return nil, fmt.Errorf("encoding a %s: %w", m.kind, err)
	}
	return encoded.Bytes(), nil
}

// exampleWebsite returns the spec of an example manifest, as JSON would decode it.
func exampleWebsite(data []byte) (object, error) {
	var example struct {
		Spec object `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &example); err != nil {
		return nil, fmt.Errorf("decoding the example: %w", err)
	}
	return example.Spec, nil
}

// websiteStatus is a status as website-controller writes it for a site that is served.
func websiteStatus() object {
	condition := func(kind, reason, message string) object {
		return object{"type": kind, "status": "True", "reason": reason, "message": message,
			"observedGeneration": 1, "lastTransitionTime": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Format(time.RFC3339)}
	}
	return object{
		"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
		"selector": "mycontroller.nevermosby.io/deployment=site",
		"commit":   strings.Repeat("0123456789", 4), "nodePort": 30080,
		"urls": []any{"http://192.0.2.1:30080/"},
		"conditions": []any{
			condition("Ready", "Ready", "the site is served"),
			condition("Available", "MinimumReplicasAvailable", "2 of 2 pods are available"),
			condition("Progressing", "Complete", "all pods are up to date"),
			condition("Synced", "Synced", "all pods serve the current commit"),
		},
	}
}

// websiteManifest is the manifest of v1beta1 and of the definition, which differ in the group.
func websiteManifest(apiVersion string, example object) manifest {
	return manifest{
		apiVersion: apiVersion, kind: "Website", status: websiteStatus(),
		spec: func(name string) object {
			spec := maps.Clone(example)
			// No two Websites of a namespace may have the same.
			spec["deploymentName"] = name
			return object{"spec": spec}
		},
		changed: object{"spec": object{"replicas": 3}},
		typed:   func() runtime.Object { return &v1beta1.Website{} },
	}
}

// alphaManifest is the example in v1alpha1: the fields that this version lacks
// are in its annotation.
func alphaManifest(annotations, example object) manifest {
	repository, _, _ := unstructured.NestedString(example, "source", "git", "repository")
	return manifest{
		apiVersion: v1alpha1.SchemeGroupVersion.String(), kind: "Website", annotations: annotations,
		status: object{"availableReplicas": 1},
		spec: func(name string) object {
			return object{"spec": object{"deploymentName": name, "gitRepo": repository,
				"replicas": example["replicas"]}}
		},
		changed: object{"spec": object{"replicas": 3}},
		typed:   func() runtime.Object { return &v1alpha1.Website{} },
	}
}

// originalExample is the manifest of the original controller, as a spec of v1beta1.
func originalExample() object {
	return object{
		"replicas": 1,
		"source":   object{"git": object{"repository": "https://github.com/nevermosby/kubia-website-example.git"}},
	}
}

// configMapManifest has the example as its data, and padding to be of equal size.
func configMapManifest(example object, padding padding) (manifest, error) {
	data, err := json.Marshal(example)
	return manifest{
		apiVersion: "v1", kind: "ConfigMap",
		spec: func(string) object {
			return object{"data": object{"spec": string(data), "padding": text(padding.created), "replicas": "2"}}
		},
		grown:   object{"data": object{"padding": text(padding.reported)}},
		changed: object{"data": object{"replicas": "3"}},
		typed: func() runtime.Object {
			return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
		},
	}, err
}

// podTemplateManifest has about as many fields as the example, with defaults, rules and managed
// fields for them as a Website has, and padding to be of equal size. No controller acts on it.
func podTemplateManifest(padding padding) (manifest, error) {
	probe := object{"httpGet": object{"path": "/healthz", "port": "http"}, "periodSeconds": 5}
	container := object{
		"name": "nginx", "image": "nginx:1.30", "args": []any{"-g", "daemon off;"},
		"ports": []any{object{"name": "http", "containerPort": 8080}},
		"env": []any{object{"name": "REPOSITORY", "value": "https://github.com/example/site"},
			object{"name": "BRANCH", "value": "main"}},
		"resources":      object{"requests": object{"cpu": "10m", "memory": "32Mi"}, "limits": object{"memory": "64Mi"}},
		"readinessProbe": probe, "livenessProbe": probe,
		"securityContext": object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": object{"drop": []any{"ALL"}}},
		"volumeMounts": []any{object{"name": "content", "mountPath": "/srv", "readOnly": true}},
	}
	return manifest{
		apiVersion: "v1", kind: "PodTemplate",
		annotations: object{"padding": text(padding.created)},
		grown:       object{"metadata": object{"annotations": object{"padding": text(padding.reported)}}},
		spec: func(name string) object {
			return object{"template": object{
				"metadata": object{"labels": object{"site": name}},
				"spec": object{
					"containers": []any{container}, "terminationGracePeriodSeconds": 10,
					"securityContext": object{"runAsNonRoot": true, "seccompProfile": object{"type": "RuntimeDefault"}},
					"volumes":         []any{object{"name": "content", "emptyDir": object{"sizeLimit": "64Mi"}}},
				},
			}}
		},
		changed: object{"template": object{"spec": object{"terminationGracePeriodSeconds": 20}}},
	}, nil
}

// flunderManifest is the manifest of k8s.io/sample-apiserver, which has a string for all settings.
func flunderManifest(example object, padding padding) (manifest, error) {
	data, err := json.Marshal(example)
	return manifest{
		apiVersion: "wardle.example.com/v1alpha1", kind: "Flunder",
		spec: func(string) object {
			return object{"spec": object{"reference": string(data) + text(padding.created)}}
		},
		grown:   object{"spec": object{"reference": string(data) + text(padding.reported)}},
		changed: object{"metadata": object{"labels": object{"replicas": "3"}}},
	}, err
}
