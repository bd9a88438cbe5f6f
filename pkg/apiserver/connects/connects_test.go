package connects

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

func infoOf(resource, subresource string) *request.RequestInfo {
	return &request.RequestInfo{IsResourceRequest: true, APIGroup: website.GroupName, Resource: resource,
		Subresource: subresource}
}

func TestLongRunning(t *testing.T) {
	watches := func(_ *http.Request, info *request.RequestInfo) bool { return info.Verb == "watch" }
	tests := map[string]struct {
		method, url string
		info        *request.RequestInfo
		want        bool
	}{
		"waits": {method: http.MethodPost, url: "/?timeoutSeconds=5",
			info: infoOf("websites", "sync"), want: true},
		"waits for nothing":  {method: http.MethodPost, url: "/?timeoutSeconds=0", info: infoOf("websites", "sync")},
		"no integer":         {method: http.MethodPost, url: "/?timeoutSeconds=5s", info: infoOf("websites", "sync")},
		"waits for too long": {method: http.MethodPost, url: "/?timeoutSeconds=301", info: infoOf("websites", "sync")},
		"dry run": {method: http.MethodPost, url: "/?timeoutSeconds=5&dryRun=All",
			info: infoOf("websites", "sync")},
		"does not wait":     {method: http.MethodPost, url: "/", info: infoOf("websites", "sync")},
		"only shows":        {method: http.MethodGet, url: "/?timeoutSeconds=5", info: infoOf("websites", "sync")},
		"rollback":          {method: http.MethodPost, url: "/?timeoutSeconds=5", info: infoOf("websites", "rollback")},
		"another resource":  {method: http.MethodPost, url: "/?timeoutSeconds=5", info: infoOf("pods", "sync")},
		"watch, as without": {method: http.MethodGet, url: "/", info: &request.RequestInfo{Verb: "watch"}, want: true},
	}
	for name, test := range tests {
		if got := longRunning(watches)(httptest.NewRequest(test.method, test.url, nil), test.info); got != test.want {
			t.Errorf("%s: long-running = %t, want %t", name, got, test.want)
		}
	}
}

func TestDryRunReachesSubresources(t *testing.T) {
	tests := map[string]struct {
		info  *request.RequestInfo
		query string
		want  []string
	}{
		"sync":        {info: infoOf("websites", "sync"), query: "timeoutSeconds=5", want: []string{"All"}},
		"rollback":    {info: infoOf("websites", "rollback"), query: "dryRun=All&timeoutSeconds=5"},
		"an update":   {info: infoOf("websites", ""), query: "dryRun=All&timeoutSeconds=5"},
		"not for us":  {info: infoOf("pods", "sync"), query: "dryRun=All&timeoutSeconds=5"},
		"no resource": {info: &request.RequestInfo{}, query: "dryRun=All&timeoutSeconds=5"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			called := false
			handler := withDryRun(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				called = true
				if got := registry.DryRunFrom(r.Context()); !slices.Equal(got, test.want) || r.URL.RawQuery != test.query {
					t.Errorf("dryRun = %q, query %q; want %q and %q", got, r.URL.RawQuery, test.want, test.query)
				}
			}))
			r := httptest.NewRequest(http.MethodPost, "/?dryRun=All&timeoutSeconds=5", nil)
			handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(request.WithRequestInfo(r.Context(), test.info)))
			if !called {
				t.Error("the handler was not called")
			}
		})
	}
}

// asked is admission that notes its requests.
type asked struct {
	dryRuns []bool
}

func (*asked) Handles(admission.Operation) bool { return true }

func (a *asked) Admit(_ context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	a.dryRuns = append(a.dryRuns, attributes.IsDryRun())
	return nil
}

func (a *asked) Validate(ctx context.Context, attributes admission.Attributes, o admission.ObjectInterfaces) error {
	return a.Admit(ctx, attributes, o)
}

func TestAdmissionKnowsDryRuns(t *testing.T) {
	attributes := func(operation admission.Operation, dryRun bool) admission.Attributes {
		return admission.NewAttributesRecord(nil, nil, website.SchemeGroupVersion.WithKind("Website"), "default", "kubia",
			website.SchemeGroupVersion.WithResource("websites"), "sync", operation, nil, dryRun, nil)
	}
	trying := registry.WithDryRun(t.Context(), []string{"All"})
	tests := map[string]struct {
		ctx        context.Context
		attributes admission.Attributes
		want       bool
	}{
		"connection":         {ctx: t.Context(), attributes: attributes(admission.Connect, false)},
		"connection, tried":  {ctx: trying, attributes: attributes(admission.Connect, false), want: true},
		"update, as without": {ctx: t.Context(), attributes: attributes(admission.Update, true), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wrapped := &asked{}
			plugins := dryRunAdmission{wrapped}
			if err := plugins.Admit(test.ctx, test.attributes, nil); err != nil {
				t.Fatal(err)
			}
			if err := plugins.Validate(test.ctx, test.attributes, nil); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(wrapped.dryRuns, []bool{test.want, test.want}) {
				t.Errorf("dry runs = %t, want %t", wrapped.dryRuns, test.want)
			}
		})
	}
}
