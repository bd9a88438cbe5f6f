package children

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// extractDeployment is ExtractDeployment of client-go for Deployments that kube-apiserver accepts, with
// a warning, and that one does not: lists with two entries of one key, such as an environment variable that
// another client has set twice. An apply mends them.
func extractDeployment(deployment *appsv1.Deployment, fieldManager string) (*appsv1ac.DeploymentApplyConfiguration, error) {
	applied := &appsv1ac.DeploymentApplyConfiguration{}
	if entry := appliedEntry(deployment, fieldManager); entry != nil && entry.FieldsV1 != nil {
		fields, err := extractFields(deployment, entry.FieldsV1)
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, applied)
		}
		if err != nil {
			return nil, err
		}
	}
	applied.WithName(deployment.Name).WithNamespace(deployment.Namespace).WithKind("Deployment").WithAPIVersion(appsv1.SchemeGroupVersion.String())
	return applied, nil
}

// extractFields returns the fields of a Deployment that are in a set.
func extractFields(deployment *appsv1.Deployment, fields *metav1.FieldsV1) (map[string]any, error) {
	set := &fieldpath.Set{}
	if err := set.FromJSON(fields.GetRawReader()); err != nil {
		return nil, fmt.Errorf("reading managed fields: %w", err)
	}
	withKind := *deployment
	withKind.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	typedDeployment, err := applyconfigurations.NewTypeConverter(scheme.Scheme).ObjectToTyped(&withKind, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("reading a Deployment by its schema: %w", err)
	}
	// None is nil, which is not a map.
	members, _ := typedDeployment.ExtractItems(set.Leaves()).AsValue().Unstructured().(map[string]any)
	return members, nil
}
