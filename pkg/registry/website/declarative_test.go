package website

import (
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestManyErrors: a request with very many errors is rejected with the first ones. With all of them, which are
// compared with each other, this test would take minutes.
func TestManyErrors(t *testing.T) {
	strategy := newStrategy(t)
	many := func(w *website.Website) {
		w.Spec.Hosts, w.Labels = nil, map[string]string{}
		for i := range 30_000 {
			w.Spec.Hosts = append(w.Spec.Hosts, v1beta1.WebsiteHost{Name: "invalid-" + strconv.Itoa(i),
				Role: v1beta1.HostRoleAlias})
			w.Labels["invalid/"+strconv.Itoa(i)+"/"] = ""
		}
		w.Spec.Previews = &v1beta1.WebsitePreviews{}
		for i := range 30_000 {
			w.Spec.Previews.Branches = append(w.Spec.Previews.Branches, strconv.Itoa(i))
		}
	}
	updated := newWebsite(many)
	updated.ResourceVersion = "1"
	for name, err := range map[string]error{
		"creation": rest.BeforeCreate(strategy, requestContext("v1beta1", ""), newWebsite(many)),
		"update": rest.BeforeUpdate(strategy, requestContext("v1beta1", ""), updated,
			newWebsite(func(w *website.Website) { w.ResourceVersion = "1" })),
	} {
		status, ok := err.(apierrors.APIStatus)
		if !ok || !apierrors.IsInvalid(err) {
			t.Fatalf("%s: %v", name, err)
		}
		causes := status.Status().Details.Causes
		if len(causes) != maxErrors || !strings.HasSuffix(causes[maxErrors-1].Message, "more errors)") {
			t.Errorf("%s: %d causes, the last is %+v", name, len(causes), causes[len(causes)-1])
		}
	}
}
