package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// addFieldLabelConversions registers the field selectors of this version and
// translates them to the internal version. The fields of the status can be selected
// although the frozen types lack them.
func addFieldLabelConversions(scheme *runtime.Scheme) error {
	return scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind("Website"),
		func(label, value string) (string, string, error) {
			switch label {
			case "metadata.name", "metadata.namespace", "spec.deploymentName", "status.ready", "status.commit":
				return label, value, nil
			case "spec.gitRepo":
				return "spec.source.git.repository", value, nil
			}
			return "", "", fmt.Errorf("field label not supported: %s", label)
		})
}
