package children

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// sum is a SHA-256 cut to half of it, which nothing else that is ever applied has.
type sum [sha256.Size / 2]byte

// sumOf returns the sum of bytes.
func sumOf(data []byte) sum {
	whole := sha256.Sum256(data)
	return sum(whole[:sha256.Size/2])
}

// Digest tells whether two apply configurations of a child differ, whatever the
// generation of the Website. The cache keeps that of what was applied: the fields
// themselves, and the managed fields that say which they are, take more memory than all
// else of a child, and more time to extract than a reconciliation takes.
type Digest struct {
	// Content is of the pod template of a Deployment, whose change replaces pods, or of the
	// data of a ConfigMap, which may be immutable. It is zero for other kinds.
	Content sum
	// Rest is of all other fields.
	Rest sum
}

// keep puts the Digest into a child in place of its managed fields, where it takes the least memory: into the
// self-link, which API servers neither store nor send since Kubernetes 1.24.
func (d Digest) keep(child metav1.Object) {
	child.SetManagedFields(nil)
	child.SetSelfLink(string(d.Content[:]) + string(d.Rest[:]))
}

// keptDigest returns the Digest that is in place of the managed fields of a child, if there is one.
func keptDigest(child metav1.Object) (Digest, bool) {
	kept := []byte(child.GetSelfLink())
	if len(kept) != 2*len(sum{}) || len(child.GetManagedFields()) > 0 {
		return Digest{}, false
	}
	return Digest{Content: sum(kept[:len(sum{})]), Rest: sum(kept[len(sum{}):])}, true
}

// digestOf returns the digest of an apply configuration, which has another generation
// of the Website afterwards.
func digestOf[A ApplyConfiguration[A]](configuration A) (Digest, error) {
	rest, err := hash(withGeneration(configuration, 0))
	return Digest{Rest: rest}, err
}

// digestOfDeployment is digestOf for a Deployment.
func digestOfDeployment(configuration *appsv1ac.DeploymentApplyConfiguration) (digest Digest, err error) {
	rest := *configuration
	if configuration.Spec != nil {
		spec := *configuration.Spec
		if digest.Content, err = hash(spec.Template); err != nil {
			return digest, err
		}
		spec.Template = nil
		rest.Spec = &spec
	}
	// The annotations are those of the configuration.
	digest.Rest, err = hash(withGeneration(&rest, 0))
	return digest, err
}

// digestOfConfigMap is digestOf for a ConfigMap.
func digestOfConfigMap(configuration *corev1ac.ConfigMapApplyConfiguration) (digest Digest, err error) {
	digest.Content = hashData(configuration.Data)
	rest := *configuration
	rest.Data = nil
	digest.Rest, err = hash(withGeneration(&rest, 0))
	return digest, err
}

// hash tells values of one type apart by what would go over the wire: fields and map keys
// come in one order.
func hash(value any) (sum, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return sum{}, fmt.Errorf("encoding an apply configuration: %w", err)
	}
	return sumOf(data), nil
}

// hashData is hash for the data of a ConfigMap, which may be large and have many quotes.
func hashData(data map[string]string) sum {
	whole := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		for _, part := range []string{key, data[key]} {
			fmt.Fprintf(whole, "%d:%s", len(part), part)
		}
	}
	return sum(whole.Sum(nil)[:len(sum{})])
}

// Applied returns the digest of what the controller applied of a child.
func (k *Kind[T, A]) Applied(child T) (Digest, *problem.Problem) {
	if kept, ok := keptDigest(child); ok {
		return kept, nil
	}
	digest, err := extractDigest(child, k.extract, k.digest)
	if err != nil {
		return Digest{}, problem.Classify(fmt.Errorf("extracting the applied fields of %s %q: %w", k.name,
			child.GetName(), err))
	}
	return digest, nil
}

// Desired returns the digest of what the controller is about to apply.
func (k *Kind[T, A]) Desired(desired A) (Digest, *problem.Problem) {
	digest, err := k.digest(desired)
	return digest, problem.Classify(err)
}

// appliedEntry returns the managed fields that a field manager has applied, or nil.
func appliedEntry(object metav1.Object, fieldManager string) *metav1.ManagedFieldsEntry {
	entries := object.GetManagedFields()
	for i := range entries {
		if entry := &entries[i]; entry.Manager == fieldManager && entry.Operation == metav1.ManagedFieldsOperationApply &&
			entry.Subresource == "" {
			return entry
		}
	}
	return nil
}

// WasApplied reports whether the controller has applied an object before.
func WasApplied(object metav1.Object) bool {
	_, kept := keptDigest(object)
	return kept || appliedEntry(object, FieldManager) != nil
}
