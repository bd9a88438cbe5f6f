package cached

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	websitev1beta1ac "github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
)

// sum is a SHA-256, cut to half of its length, which is enough to be unique.
type sum [sha256.Size / 2]byte

// Digest shows whether two apply configurations of a child differ, apart from the generation of the
// Website. The caches hold the digest of the applied fields: the fields themselves, and the managed
// fields that name them, take more memory than the rest of a child, and more time to extract than a
// reconciliation takes.
type Digest struct {
	// Content is the digest of the pod template of a Deployment, whose change replaces pods, or of
	// the data of a ConfigMap, which may be immutable. It is zero for other kinds.
	Content sum
	// Rest is the digest of all other fields.
	Rest sum
}

// ApplyConfiguration is the desired state of a child.
type ApplyConfiguration[A any] interface {
	GetKind() *string
	GetAPIVersion() *string
	GetName() *string
	WithKind(string) A
	WithAPIVersion(string) A
	WithName(string) A
	WithNamespace(string) A
	WithUID(types.UID) A
	WithResourceVersion(string) A
	WithAnnotations(map[string]string) A
}

// Fields reads the applied fields of the children of one kind.
type Fields[S Object, A ApplyConfiguration[A]] struct {
	// Extract returns the fields of an object that a field manager applied.
	Extract func(child S, fieldManager string) (A, error)
	// Digest returns the digest of such fields. It changes their generation of the Website.
	Digest func(configuration A) (Digest, error)
	kind   *metav1.TypeMeta
}

// The fields of each kind. kube-apiserver stores the defaults of all keys of lists. For Websites only
// the schema has them, so previews are extracted with it.
var (
	Deployments          = fieldsOf[appsv1.Deployment](appsv1ac.Deployment, digestOfDeployment)
	ConfigMaps           = fieldsOf[corev1.ConfigMap](corev1ac.ConfigMap, digestOfConfigMap)
	Services             = fieldsOf[corev1.Service](corev1ac.Service, digestOf)
	PodDisruptionBudgets = fieldsOf[policyv1.PodDisruptionBudget](policyv1ac.PodDisruptionBudget, digestOf)
	Ingresses            = fieldsOf[networkingv1.Ingress](networkingv1ac.Ingress, digestOf)
	HTTPRoutes           = fieldsOf[gatewayv1.HTTPRoute](gatewayv1ac.HTTPRoute, digestOf)
	ListenerSets         = fieldsOf[gatewayv1.ListenerSet](gatewayv1ac.ListenerSet, digestOf)
	Previews             = Fields[*v1beta1.Website, *websitev1beta1ac.WebsiteApplyConfiguration]{
		Extract: websitev1beta1ac.ExtractWebsite, Digest: digestOf[*websitev1beta1ac.WebsiteApplyConfiguration],
	}
)

// WithGeneration sets the generation of the Website from which a child is written.
func WithGeneration[A ApplyConfiguration[A]](child A, generation int64) A {
	return child.WithAnnotations(map[string]string{GenerationAnnotation: strconv.FormatInt(generation, 10)})
}

// digestOf returns the digest of an apply configuration. It changes its generation of the Website.
func digestOf[A ApplyConfiguration[A]](configuration A) (Digest, error) {
	rest, err := hash(WithGeneration(configuration, 0))
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
	// The annotations are shared with the configuration.
	digest.Rest, err = hash(WithGeneration(&rest, 0))
	return digest, err
}

// digestOfConfigMap is digestOf for a ConfigMap.
func digestOfConfigMap(configuration *corev1ac.ConfigMapApplyConfiguration) (digest Digest, err error) {
	digest.Content = hashData(configuration.Data)
	rest := *configuration
	rest.Data = nil
	digest.Rest, err = hash(WithGeneration(&rest, 0))
	return digest, err
}

// hash distinguishes values of one type by their encoding, in which fields and map keys are ordered.
func hash(value any) (sum, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return sum{}, fmt.Errorf("encoding an apply configuration: %w", err)
	}
	whole := sha256.Sum256(data)
	return sum(whole[:len(sum{})]), nil
}

// hashData is hash for strings by name, such as the data of a ConfigMap, which may be large and have
// many quotes.
func hashData(data map[string]string) sum {
	whole := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		for _, part := range []string{key, data[key]} {
			fmt.Fprintf(whole, "%d:%s", len(part), part)
		}
	}
	return sum(whole.Sum(nil)[:len(sum{})])
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

// WasApplied reports whether the controller has applied an object before, by its managed fields.
func WasApplied(object metav1.Object) bool { return appliedEntry(object, FieldManager) != nil }
