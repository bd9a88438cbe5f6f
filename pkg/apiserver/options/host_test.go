package options

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

// host answers discovery requests like a cluster that serves these resources.
func host(resources map[string][]string) discovery.ServerResourcesInterface {
	fake := &clienttesting.Fake{}
	for version, names := range resources {
		list := &metav1.APIResourceList{GroupVersion: version}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		fake.Resources = append(fake.Resources, list)
	}
	return &fakediscovery.FakeDiscovery{Fake: fake}
}

var (
	webhooks           = []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
	validatingPolicies = []string{"validatingadmissionpolicies", "validatingadmissionpolicies/status",
		"validatingadmissionpolicybindings"}
	mutatingPolicies    = []string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
	admissionVersion    = "admissionregistration.k8s.io/v1"
	flowcontrolVersion  = "flowcontrol.apiserver.k8s.io/v1"
	everythingForGroups = map[string][]string{
		admissionVersion:   slices.Concat(webhooks, validatingPolicies, mutatingPolicies),
		flowcontrolVersion: {"flowschemas", "prioritylevelconfigurations"},
	}
)

func TestTurnOffWhatTheHostLacks(t *testing.T) {
	tests := map[string]struct {
		args         []string
		host         map[string][]string
		wantOff      []string
		wantFairness bool
	}{
		"nothing is missing": {host: everythingForGroups, wantFairness: true},
		"Kubernetes 1.35": {
			host: map[string][]string{admissionVersion: slices.Concat(webhooks, validatingPolicies),
				flowcontrolVersion: everythingForGroups[flowcontrolVersion]},
			wantOff: []string{"MutatingAdmissionPolicy"}, wantFairness: true,
		},
		"policies without bindings": {
			host: map[string][]string{admissionVersion: slices.Concat(webhooks, validatingPolicies, mutatingPolicies[:1]),
				flowcontrolVersion: everythingForGroups[flowcontrolVersion]},
			wantOff: []string{"MutatingAdmissionPolicy"}, wantFairness: true,
		},
		"Kubernetes 1.28": {
			host: map[string][]string{admissionVersion: webhooks,
				"flowcontrol.apiserver.k8s.io/v1beta3": everythingForGroups[flowcontrolVersion]},
			wantOff: []string{"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"},
		},
		"turned off before": {
			args:    []string{"--disable-admission-plugins=MutatingAdmissionPolicy", "--enable-priority-and-fairness=false"},
			host:    map[string][]string{admissionVersion: slices.Concat(webhooks, validatingPolicies)},
			wantOff: []string{"MutatingAdmissionPolicy"},
		},
		"enabled and served": {args: []string{"--enable-admission-plugins=MutatingAdmissionPolicy"},
			host: everythingForGroups, wantFairness: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := parse(t, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.turnOffMissing(t.Context(), host(test.host)); err != nil {
				t.Fatal(err)
			}
			if got := o.Recommended.Admission.DisablePlugins; !slices.Equal(got, test.wantOff) {
				t.Errorf("plugins turned off = %v, want %v", got, test.wantOff)
			}
			if got := o.Recommended.Features.EnablePriorityAndFairness; got != test.wantFairness {
				t.Errorf("priority and fairness = %t, want %t", got, test.wantFairness)
			}
			if err := o.Validate(); err != nil {
				t.Errorf("the options have become invalid: %v", err)
			}
		})
	}
}

func TestPluginThatCannotWorkIsRefused(t *testing.T) {
	o, err := parse(t, "--enable-admission-plugins=MutatingAdmissionPolicy")
	if err != nil {
		t.Fatal(err)
	}
	err = o.turnOffMissing(t.Context(),
		host(map[string][]string{admissionVersion: slices.Concat(webhooks, validatingPolicies)}))
	want := "--enable-admission-plugins=MutatingAdmissionPolicy: the host cluster does not serve " +
		"mutatingadmissionpolicies, mutatingadmissionpolicybindings in admissionregistration.k8s.io/v1"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
}

// TestNothingIsTurnedOffWhenTheHostCannotBeAsked: a host that is briefly
// unreachable must not count as one without policies.
func TestNothingIsTurnedOffWhenTheHostCannotBeAsked(t *testing.T) {
	o, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	down := errors.New("connection refused")
	fake := &clienttesting.Fake{}
	fake.AddReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, down })
	if err := o.turnOffMissing(t.Context(), &fakediscovery.FakeDiscovery{Fake: fake}); !errors.Is(err, down) {
		t.Errorf("error = %v, want %v", err, down)
	}
	if off := o.Recommended.Admission.DisablePlugins; len(off) != 0 {
		t.Errorf("plugins turned off = %v, want none", off)
	}
}

// TestResourceQuotaIsLast: a Website that another plugin rejects must not
// be counted.
func TestResourceQuotaIsLast(t *testing.T) {
	o, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	order := o.Recommended.Admission.RecommendedPluginOrder
	if order[0] != "NamespaceLifecycle" || order[len(order)-1] != "ResourceQuota" {
		t.Errorf("order of plugins = %v, want NamespaceLifecycle first and ResourceQuota last", order)
	}
}

// TestHostIsNotThrottled: the limits of client-go must not limit admission.
func TestHostIsNotThrottled(t *testing.T) {
	o, err := parse(t, "--kubeconfig="+unreachableHost(t))
	if err != nil {
		t.Fatal(err)
	}
	config := genericapiserver.NewRecommendedConfig(o.codecs)
	if err := o.applyCoreAPI(config); err != nil {
		t.Fatal(err)
	}
	// The recommended options do the same afterwards.
	if err := o.Recommended.CoreAPI.ApplyTo(config); err != nil {
		t.Fatal(err)
	}
	if config.ClientConfig.QPS >= 0 || config.SharedInformerFactory == nil {
		t.Errorf("%v requests a second, informers %v; want no limit, and informers", config.ClientConfig.QPS,
			config.SharedInformerFactory)
	}
}

// hostVersions answers requests for the host's version with these errors, one
// after the other, and then with a version.
type hostVersions struct{ errs []error }

func (h *hostVersions) ServerVersion() (*version.Info, error) {
	if len(h.errs) == 0 {
		return &version.Info{}, nil
	}
	err := h.errs[0]
	h.errs = h.errs[1:]
	return nil, err
}

// TestAwaitHost starts while the host cluster does not respond.
func TestAwaitHost(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	tests := map[string]struct {
		errs []error
		want string
	}{
		"reachable":       {},
		"reachable later": {errs: []error{refused}},
		"answers later":   {errs: []error{apierrors.NewServiceUnavailable("starting")}},
		"the credentials are not valid": {errs: []error{apierrors.NewUnauthorized("no")},
			want: "reading the version of the host cluster"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := &hostVersions{errs: test.errs}
			err := awaitHost(t.Context(), host)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
			if len(host.errs) > 0 {
				t.Errorf("it did not wait for %v to pass", host.errs)
			}
		})
	}
	t.Run("until the server is stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := awaitHost(ctx, &hostVersions{errs: []error{refused, refused}}); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want that it was canceled", err)
		}
	})
}
