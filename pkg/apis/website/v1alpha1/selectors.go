package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// addFieldLabelConversions names the fields by which Websites of this version
// can be selected, and translates them to those of the hub.
func addFieldLabelConversions(scheme *runtime.Scheme) error {
	return scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind("Website"), func(label, value string) (string, string, error) {
		switch label {
		case "metadata.name", "metadata.namespace", "spec.deploymentName":
			return label, value, nil
		case "spec.gitRepo":
			return "spec.source.repository", value, nil
		}
		return "", "", fmt.Errorf("field label not supported: %s", label)
	})
}
