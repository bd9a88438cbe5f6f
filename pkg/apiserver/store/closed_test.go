package store

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
)

// TestWithClosedStore requests Websites, and other paths, of a closed server.
func TestWithClosedStore(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	g := newGuard(t, newConfig("http://127.0.0.1:1", &configMaps{}))
	handler := g.WithClosedStore(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}), serializer.NewCodecFactory(scheme))

	websites := &request.RequestInfo{IsResourceRequest: true, APIGroup: website.GroupName, APIVersion: "v1beta1",
		Resource: "websites"}
	tests := map[string]struct {
		info *request.RequestInfo
		open bool
		want int
	}{
		"Websites":                     {info: websites, want: http.StatusServiceUnavailable},
		"Websites, with an open store": {info: websites, open: true, want: http.StatusTeapot},
		"discovery": {info: &request.RequestInfo{Path: "/apis/" + website.GroupName},
			want: http.StatusTeapot},
		"health": {info: &request.RequestInfo{Path: "/readyz"}, want: http.StatusTeapot},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g.state.Store(&Closed{ReasonEmpty,
				"the store is empty, and 2 objects, such as deployments others/payroll, are owned by Websites"})
			if test.open {
				g.state.Store(nil)
			}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r.WithContext(request.WithRequestInfo(r.Context(), test.info)))
			if w.Code != test.want {
				t.Errorf("answered %d, want %d", w.Code, test.want)
			}
			if test.want == http.StatusServiceUnavailable && (w.Header().Get("Retry-After") != "" ||
				!strings.Contains(w.Body.String(), "the server is closed: the store is empty")) {
				t.Errorf("answered %v %s", w.Header(), w.Body)
			}
			if strings.Contains(w.Body.String(), "payroll") {
				t.Errorf("the answer has names of another namespace: %s", w.Body)
			}
		})
	}
}

// TestClosedMetric: each reason has a value, so that one that is absent is none that was scraped.
func TestClosedMetric(t *testing.T) {
	for _, closed := range []*Closed{{ReasonEmpty, "x"}, nil, {ReasonOutdated, "x"}, {ReasonEmpty, "x"}} {
		recordState(closed)
		want := "# HELP website_apiserver_store_closed " + closedMetric.Help +
			"\n# TYPE website_apiserver_store_closed gauge\n"
		for _, reason := range slices.Sorted(maps.Keys(findings)) {
			value := 0
			if closed != nil && closed.Reason == reason {
				value = 1
			}
			want += fmt.Sprintf("website_apiserver_store_closed{reason=%q} %d\n", reason, value)
		}
		if err := testutil.GatherAndCompare(legacyregistry.DefaultGatherer, strings.NewReader(want),
			"website_apiserver_store_closed"); err != nil {
			t.Errorf("while the store is %+v: %v", closed, err)
		}
	}
}

// TestClosingCancelsRequests closes a server while it answers a request.
func TestClosingCancelsRequests(t *testing.T) {
	const endpoint = "http://127.0.0.1:1"
	g := newGuard(t, newConfig(endpoint, &configMaps{}))
	g.setVerdict(t.Context(), nil, endpoint)
	handler := g.WithClosedStore(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Context().Err() != nil {
			t.Error("canceled while the server is open")
		}
		g.setVerdict(t.Context(), &Closed{ReasonEmpty, "the store is empty"}, endpoint)
		<-r.Context().Done()
		if g.Closed() == nil {
			t.Error("canceled before the server was closed")
		}
	}), nil)
	for range 2 {
		g.setVerdict(t.Context(), nil, endpoint)
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		info := &request.RequestInfo{IsResourceRequest: true, APIGroup: website.GroupName, APIVersion: "v1beta1",
			Resource: "websites"}
		handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(request.WithRequestInfo(r.Context(), info)))
	}
}
