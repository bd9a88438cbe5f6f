package website

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// requestContext is the context of a request to a version of websites.
func requestContext(version, subresource string) context.Context {
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), "default")
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		APIGroup: website.GroupName, APIVersion: version, Resource: "websites", Subresource: subresource,
	})
}

// causes returns the causes in an error: "path: message" for each.
func causes(err error) []string {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil {
		return nil
	}
	var causes []string
	for _, cause := range status.Status().Details.Causes {
		causes = append(causes, cause.Field+": "+cause.Message)
	}
	return causes
}

// checkCauses compares the errors with want, which holds "path: message"
// for each.
func checkCauses(t *testing.T, err error, want []string) {
	t.Helper()
	if got := causes(err); !slices.Equal(got, want) {
		t.Errorf("errors (%v):\ngot  %q\nwant %q", err, got, want)
	}
}

// specCase is a spec, with the expected errors.
type specCase struct {
	tweak func(*website.Website)
	want  []string
}

// specCases cover spec.deploymentName, spec.replicas, spec.suspend and spec.pin. The cases
// of other fields are in other files.
var specCases = map[string]specCase{
	"as it is":             {tweak: func(*website.Website) {}},
	"deployment at length": {tweak: func(w *website.Website) { w.Spec.DeploymentName = strings.Repeat("a", 57) }},
	"deployment too long": {tweak: func(w *website.Website) { w.Spec.DeploymentName = strings.Repeat("a", 58) },
		want: []string{"spec.deploymentName: Too long: may not be more than 57 characters"}},
	"deployment no label": {tweak: func(w *website.Website) { w.Spec.DeploymentName = "a.b" },
		want: []string{`spec.deploymentName: Invalid value: "a.b": ` + validation.IsDNS1035Label("a.b")[0]}},
	"no pods": {tweak: func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](0) }},
	"negative replicas": {tweak: func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](-1) },
		want: []string{"spec.replicas: Invalid value: -1: must be greater than or equal to 0"}},
	"not suspended": {tweak: func(w *website.Website) { w.Spec.Suspend = new(false) }},
	"pinned":        {tweak: func(w *website.Website) { w.Spec.Pin = pinTo(strings.Repeat("0a", 20)) }},
	"pinned by suspending": {tweak: func(w *website.Website) {
		w.Spec.Suspend, w.Spec.Pin = new(true),
			&v1beta1.WebsitePin{Commit: strings.Repeat("0a", 20), Cause: v1beta1.PinCauseSuspend}
	}},
	"pinned by another": {tweak: func(w *website.Website) {
		w.Spec.Pin = &v1beta1.WebsitePin{Commit: strings.Repeat("0a", 20), Cause: "User"}
	}, want: []string{`spec.pin.cause: Unsupported value: "User": supported values: "Suspend"`}},
	"pinned to nothing": {tweak: func(w *website.Website) { w.Spec.Pin = &v1beta1.WebsitePin{} },
		want: []string{"spec.pin.commit: Required value"}},
	"pinned to a branch": {
		tweak: func(w *website.Website) { w.Spec.Pin = pinTo("main") }, want: []string{`spec.pin.commit: Invalid value: ` +
			`"main": must be the full name of a commit: 40 or 64 hexadecimal digits in lower case`},
	},
	"suspended": {tweak: func(w *website.Website) { w.Spec.Suspend = new(true) }},
}

// allSpecCases returns, for every field of the spec, accepted values, and rejected
// values with their messages.
func allSpecCases() map[string]specCase {
	all := map[string]specCase{}
	for _, cases := range []map[string]specCase{specCases, sourceCases, servingCases, childrenCases, hostCases,
		accessCases, previewCases} {
		maps.Copy(all, cases)
	}
	return all
}

func tweaks(tweaks ...func(*website.Website)) func(*website.Website) {
	return func(w *website.Website) {
		for _, tweak := range tweaks {
			tweak(w)
		}
	}
}

// TestSpecs runs all validation steps of a create request, so that it detects an
// error that two rules report.
func TestSpecs(t *testing.T) {
	strategy := newStrategy(t)
	for name, test := range allSpecCases() {
		t.Run(name, func(t *testing.T) {
			created := newWebsite(func(w *website.Website) { w.ResourceVersion = "" }, test.tweak)
			checkCauses(t, rest.BeforeCreate(strategy, requestContext("v1beta1", ""), created), test.want)
		})
	}
}

// TestUnchangedMistakesDoNotBlockUpdates changes spec.replicas of a stored Website
// whose spec violates the current rules. The update must be accepted.
func TestUnchangedMistakesDoNotBlockUpdates(t *testing.T) {
	strategy := newStrategy(t)
	for name, test := range allSpecCases() {
		if name == "negative replicas" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(test.tweak, func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](7) })
			checkCauses(t, rest.BeforeUpdate(strategy, requestContext("v1beta1", ""), updated, newWebsite(test.tweak)), nil)
		})
	}
}
