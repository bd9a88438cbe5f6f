package website

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// TestErrorsSpeakTheVersionOfTheClient: errors have the paths of the client's version.
func TestErrorsSpeakTheVersionOfTheClient(t *testing.T) {
	const carried = "metadata.annotations[mycontroller.nevermosby.io/fields-of-other-versions]."
	tests := map[string]struct {
		tweak             func(*website.Website)
		v1alpha1, v1beta1 string
		message           string
	}{
		"repository": {tweak: repository(""), v1alpha1: "spec.gitRepo", v1beta1: "spec.source.git.repository",
			message: "Required value: the git repository to publish; must be an https://, http:// or ssh:// URL, or " +
				"user@host:path"},
		"replicas": {tweak: func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](-1) }, v1alpha1: "spec.replicas",
			v1beta1: "spec.replicas",
			message: "Invalid value: -1: must be greater than or equal to 0"},
		"deployment": {tweak: func(w *website.Website) { w.Spec.DeploymentName = "A" }, v1alpha1: "spec.deploymentName",
			v1beta1: "spec.deploymentName",
			message: `Invalid value: "A": ` + validation.IsDNS1035Label("A")[0]},
		"name": {tweak: func(w *website.Website) { w.Name = "a.b" }, v1alpha1: "metadata.name", v1beta1: "metadata.name",
			message: `Invalid value: "a.b": must not contain dots`},
		"declared rule for a field that v1alpha1 lacks": {
			tweak:    func(w *website.Website) { w.Spec.Polling.PeriodSeconds = 1 },
			v1alpha1: carried + "spec.polling.periodSeconds", v1beta1: "spec.polling.periodSeconds",
			message: "Invalid value: 1: must be greater than or equal to 10",
		},
		"written rule for a field that v1alpha1 lacks": {
			tweak:    path("../x"),
			v1alpha1: carried + "spec.source.path", v1beta1: "spec.source.path",
			message: `Invalid value: "../x": must not contain the segment '.' or '..'`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for version, path := range map[string]string{"v1alpha1": test.v1alpha1, "v1beta1": test.v1beta1} {
				created := newWebsite(func(w *website.Website) { w.ResourceVersion = "" }, test.tweak)
				checkCauses(t, rest.BeforeCreate(newStrategy(t), requestContext(version, ""), created),
					[]string{path + ": " + test.message})
			}
		})
	}
	t.Run("deployment name missing in v1alpha1", func(t *testing.T) {
		created := newWebsite(func(w *website.Website) { w.ResourceVersion, w.Spec.DeploymentName = "", "" })
		checkCauses(t, rest.BeforeCreate(newStrategy(t), requestContext("v1alpha1", ""), created),
			[]string{"spec.deploymentName: Required value: the name of the Deployment"})
	})
	t.Run("deployment renamed", func(t *testing.T) {
		renamed := newWebsite(func(w *website.Website) { w.Spec.DeploymentName = "other" })
		checkCauses(t, rest.BeforeUpdate(newStrategy(t), requestContext("v1alpha1", ""), renamed, newWebsite()),
			[]string{`spec.deploymentName: Invalid value: "other": field is immutable`})
	})
}
