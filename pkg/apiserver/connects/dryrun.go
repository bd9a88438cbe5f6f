package connects

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

const dryRun = "dryRun"

// connecting reports whether a request is for the subresource that connects.
func connecting(info *request.RequestInfo) bool { return isSubresource(info, "sync") }

func isSubresource(info *request.RequestInfo, name string) bool {
	return info.IsResourceRequest && info.APIGroup == website.GroupName && info.Resource == "websites" &&
		info.Subresource == name
}

// withDryRun hands the query parameter dryRun to the subresource that connects. The library
// rejects it there, since other connections cannot be tried.
func withDryRun(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !connecting(info) {
			handler.ServeHTTP(w, r)
			return
		}
		query := r.URL.Query()
		values, present := query[dryRun]
		if !present {
			handler.ServeHTTP(w, r)
			return
		}
		query.Del(dryRun)
		r = r.Clone(registry.WithDryRun(r.Context(), values))
		r.URL.RawQuery = query.Encode()
		handler.ServeHTTP(w, r)
	})
}

// dryRunAdmission tells plugins that a connection is a dry run: webhooks with side effects
// must not be called then.
type dryRunAdmission struct {
	admission.Interface
}

var (
	_ admission.MutationInterface   = dryRunAdmission{}
	_ admission.ValidationInterface = dryRunAdmission{}
)

// Admit calls the mutating plugins.
func (a dryRunAdmission) Admit(ctx context.Context, attributes admission.Attributes,
	o admission.ObjectInterfaces) error {
	mutating, ok := a.Interface.(admission.MutationInterface)
	if !ok {
		return nil
	}
	return mutating.Admit(ctx, marked(ctx, attributes), o)
}

// Validate calls the validating plugins.
func (a dryRunAdmission) Validate(ctx context.Context, attributes admission.Attributes,
	o admission.ObjectInterfaces) error {
	validating, ok := a.Interface.(admission.ValidationInterface)
	if !ok {
		return nil
	}
	return validating.Validate(ctx, marked(ctx, attributes), o)
}

func marked(ctx context.Context, attributes admission.Attributes) admission.Attributes {
	if attributes.GetOperation() != admission.Connect || len(registry.DryRunFrom(ctx)) == 0 {
		return attributes
	}
	return dryRunAttributes{attributes}
}

type dryRunAttributes struct {
	admission.Attributes
}

// IsDryRun is true.
func (dryRunAttributes) IsDryRun() bool { return true }
