package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// warned records the warnings of a request.
type warned struct{ texts []string }

func (w *warned) AddWarning(_, text string) { w.texts = append(w.texts, text) }

func recording(ctx context.Context) (context.Context, *warned) {
	recorder := &warned{}
	return warning.WithWarningRecorder(ctx, recorder), recorder
}

func withHosts(namespace, name string, hosts ...string) func(*website.Website) {
	return func(w *website.Website) {
		w.Namespace, w.Name, w.Spec.DeploymentName, w.Spec.Hosts = namespace, name, name, hostsOf(hosts...)
	}
}

// TestHostsOfOthers: a user who adds a host of an older Website is warned, with its name
// if the user may read it.
func TestHostsOfOthers(t *testing.T) {
	s := newStorageWithPolicy(t, &policy{allowed: []string{"rich/first"}}, genericregistry.StorageWithCacher())
	waitUntil(t, "the watch cache is filled", func() bool { return s.Website.ReadinessCheckFunc() == nil })
	in := func(namespace, user string) context.Context {
		return as(genericapirequest.WithNamespace(requestContext("v1beta1", ""), namespace), user)
	}
	if _, err := s.Website.Create(
		in("default", poor), newWebsite(withHosts("default", "first", "a.example.com", "*.example.com")), nil,
		&metav1.CreateOptions{},
	); err != nil {
		t.Fatal(err)
	}
	waitCached(t, s, "first", 1)

	const consequence = `has the host "a.example.com": requests for it do not reach this Website until the other one ` +
		`gives it up`
	tests := map[string]struct {
		user, namespace string
		hosts           []string
		want            []string
	}{
		"readable, same namespace": {user: rich, namespace: "default", hosts: []string{"b.example.com", "a.example.com"},
			want: []string{`spec.hosts[1].name: the Website "first" of this namespace ` + consequence}},
		"readable, elsewhere": {user: rich, namespace: "other", hosts: []string{"a.example.com"},
			want: []string{`spec.hosts[0].name: the Website "first" of namespace "default" ` + consequence}},
		"not readable": {user: poor, namespace: "other", hosts: []string{"a.example.com"},
			want: []string{`spec.hosts[0].name: another Website ` + consequence}},
		"another host": {user: rich, namespace: "default", hosts: []string{"b.example.com"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			second := newWebsite(withHosts(test.namespace, "second", test.hosts...))
			ctx, created := recording(in(test.namespace, test.user))
			if _, err := s.Website.Create(ctx, second, nil,
				&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(created.texts, test.want) {
				t.Errorf("created with the warnings %q, want %q", created.texts, test.want)
			}
		})
	}
}

// TestHostsAddedLater: a Website is warned of added hosts only, and an older one is
// not warned.
func TestHostsAddedLater(t *testing.T) {
	// The cache is off, as it may still have the hosts before the previous update.
	s := newStorage(t, generic.UndecoratedStorage)
	mustCreate(t, s, newWebsite(withHosts("default", "a-first", "a.example.com")))
	mustCreate(t, s, newWebsite(withHosts("default", "b-second", "b.example.com")))
	adding := func(name string, hosts ...string) []string {
		ctx, updated := recording(as(requestContext("v1beta1", ""), rich))
		if _, _, err := s.Website.Update(ctx, name, changed(func(w *website.Website) { w.Spec.Hosts = hostsOf(hosts...) }),
			nil, nil, false, &metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		return updated.texts
	}
	if warnings := adding("b-second", "b.example.com", "a.example.com"); len(warnings) != 1 {
		t.Errorf("adding a host of an older Website: %q, want one warning", warnings)
	}
	if warnings := adding("b-second", "a.example.com"); len(warnings) != 0 {
		t.Errorf("keeping it: %q, want no warning", warnings)
	}
	if warnings := adding("a-first", "a.example.com", "b.example.com"); len(warnings) != 0 {
		t.Errorf("adding a host of a younger Website: %q, want no warning", warnings)
	}
}

// TestFieldRules: the flags restrict hosts and annotations in both versions.
func TestFieldRules(t *testing.T) {
	rules := registry.FieldRules{HostAuthorization: registry.HostAuthorizationEnforce,
		ServiceAnnotations: []string{"example.com/a-*", "b"}}
	annotation := func(key string) func(*website.Website) {
		return func(w *website.Website) { w.Spec.Service.Annotations = map[string]string{key: "x"} }
	}
	tests := map[string]struct {
		tweak func(*website.Website)
		want  string
	}{
		"host with permission": {tweak: withHosts("default", "kubia", "rich.example.com")},
		"host without permission": {tweak: withHosts("default", "kubia", "rich.example.com", "b.example.com"),
			want: `spec.hosts[1].name: Forbidden: requires use on websitehosts "b.example.com" in namespace "default": ask ` +
				`for a role that grants it`},
		"annotation by prefix": {tweak: annotation("example.com/a-b")},
		"annotation by key":    {tweak: annotation("b")},
		"other annotation": {tweak: annotation("example.com/b"), want: "spec.service.annotations[example.com/b]: " +
			"Forbidden: is not allowed in this cluster: remove it, or add its key to --allowed-service-annotations of " +
			"website-apiserver"},
	}
	s := newStorageWithRules(t, &policy{allowed: []string{"rich/kubia", "rich/rich.example.com"}}, rules,
		generic.UndecoratedStorage)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { deleteAll(t, s) })
			for _, version := range []string{"v1beta1", "v1alpha1"} {
				want := test.want
				if version == "v1alpha1" && want != "" {
					want = "metadata.annotations[" + website.AnnotationCarriedFields + "]." + want
				}
				_, err := s.Website.Create(as(requestContext(version, ""), rich), newWebsite(test.tweak), nil,
					&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				checkRefused(t, err, want)
			}
		})
	}
}

// TestHostAuthorization: each mode accepts or rejects a write that adds hosts, or a domain of previews, without the
// permission, and warns of it. Unchanged hosts require no permission.
func TestHostAuthorization(t *testing.T) {
	const (
		missingHost = `spec.hosts[1].name: requires use on websitehosts "b.example.com" in namespace "default": ask for ` +
			`a role that grants it`
		missingDomain = `spec.previews.domain: requires use on websitehosts "*.kubia.example.com" in namespace "default": ` +
			`ask for a role that grants it`
		accepted = ". It is accepted because website-apiserver has --host-authorization=Warn"
	)
	previews := func(w *website.Website) {
		w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"*"}, MaxCount: 1, Domain: "example.com"}
	}
	annotation := "metadata.annotations[" + website.AnnotationCarriedFields + "]."
	unavailable := errors.New("connection refused")
	for name, test := range map[string]struct {
		mode    registry.HostAuthorization
		version string
		tweak   func(*website.Website)
		err     error
		// checked is the number of checked permissions.
		checked  int
		refused  bool
		warnings []string
	}{
		"Off": {mode: registry.HostAuthorizationOff,
			tweak: withHosts("default", "kubia", "rich.example.com", "b.example.com")},
		"Warn": {mode: registry.HostAuthorizationWarn, tweak: withHosts("default", "kubia",
			"rich.example.com", "b.example.com"), checked: 2, warnings: []string{missingHost + accepted}},
		"Warn, with permission": {mode: registry.HostAuthorizationWarn,
			tweak: withHosts("default", "kubia", "rich.example.com"), checked: 1},
		"Warn, in v1alpha1": {mode: registry.HostAuthorizationWarn, version: "v1alpha1", tweak: withHosts("default",
			"kubia", "rich.example.com", "b.example.com"), checked: 2, warnings: []string{annotation + missingHost + accepted}},
		"Warn, previews": {mode: registry.HostAuthorizationWarn, tweak: previews, checked: 2,
			warnings: []string{missingDomain + accepted}},
		"Warn, without an authorizer": {mode: registry.HostAuthorizationWarn,
			tweak: withHosts("default", "kubia", "b.example.com"), err: unavailable, checked: 1},
		"Enforce": {mode: registry.HostAuthorizationEnforce,
			tweak: withHosts("default", "kubia", "rich.example.com", "b.example.com"), checked: 2, refused: true},
		"Enforce, with permission": {mode: registry.HostAuthorizationEnforce,
			tweak: withHosts("default", "kubia", "rich.example.com"), checked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := &policy{allowed: []string{"rich/", "rich/rich.example.com"}, err: test.err}
			s := newStorageWithRules(t, p, registry.FieldRules{HostAuthorization: test.mode}, generic.UndecoratedStorage)
			version := cmp.Or(test.version, "v1beta1")
			ctx, recorder := recording(as(requestContext(version, ""), rich))
			_, err := s.Website.Create(ctx, newWebsite(test.tweak), nil, &metav1.CreateOptions{})
			want := ""
			if test.refused {
				want = strings.Replace(missingHost, "requires", "Forbidden: requires", 1)
			}
			checkRefused(t, err, want)
			if !slices.Equal(recorder.texts, test.warnings) {
				t.Errorf("warnings %q, want %q", recorder.texts, test.warnings)
			}
			if len(p.checked) != test.checked {
				t.Errorf("%d permissions were looked for, want %d: %+v", len(p.checked), test.checked, p.checked)
			}
			if test.refused {
				return
			}
			ctx, recorder = recording(as(requestContext(version, ""), poor))
			if _, _, err := s.Website.Update(
				ctx, "kubia", changed(func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](5) }), nil, nil, false,
				&metav1.UpdateOptions{},
			); err != nil {
				t.Errorf("changing something else: %v", err)
			}
			if len(recorder.texts) > 0 || len(p.checked) != test.checked {
				t.Errorf("changing something else: warnings %q, %d permissions were looked for", recorder.texts,
					len(p.checked)-test.checked)
			}
		})
	}
}

// hostsOf returns hosts with the role Alias.
func hostsOf(names ...string) []v1beta1.WebsiteHost {
	var hosts []v1beta1.WebsiteHost
	for _, name := range names {
		hosts = append(hosts, v1beta1.WebsiteHost{Name: name, Role: v1beta1.HostRoleAlias})
	}
	return hosts
}
