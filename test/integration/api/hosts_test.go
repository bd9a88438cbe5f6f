package api

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// warned records the warnings of responses.
type warned struct{ texts []string }

func (w *warned) HandleWarningHeader(_ int, _, text string) { w.texts = append(w.texts, text) }

func withHosts(hosts ...string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) { w.Spec.Hosts = framework.Hosts(hosts...) }
}

// TestHostAuthorization: with the flags of website-apiserver, RBAC decides which user may set which
// host, and only allowed annotations are set on Services.
func TestHostAuthorization(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	user := namespace + "-editor"
	framework.Bind(t, namespace, user, "ClusterRole", "edit")
	framework.Allow(t, namespace, user, rbacv1.PolicyRule{
		APIGroups: []string{v1beta1.GroupName}, Resources: []string{"websitehosts"},
		ResourceNames: []string{"shop.example.test", "*.example.test"}, Verbs: []string{"use"},
	})
	s := framework.NewServer(t, "--host-authorization=Enforce", "--allowed-service-annotations=example.test/*")
	config := rest.CopyConfig(s.Config(t))
	config.Impersonate.UserName = user
	websites := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace)

	annotated := func(key string) func(*v1beta1.Website) {
		return func(w *v1beta1.Website) { w.Spec.Service.Annotations = map[string]string{key: "x"} }
	}
	tests := map[string]struct {
		tweak func(*v1beta1.Website)
		want  []string
	}{
		"own host":     {tweak: withHosts("shop.example.test")},
		"own wildcard": {tweak: withHosts("*.example.test")},
		"host below a wildcard": {tweak: withHosts("shop.example.test", "other.example.test"), want: []string{"spec.hosts[1]",
			`requires use on websitehosts "other.example.test"`}},
		"annotation": {tweak: annotated("example.test/size")},
		"other annotation": {tweak: annotated("example.com/size"),
			want: []string{"spec.service.annotations[example.com/size]", "--allowed-service-annotations"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := websites.Create(t.Context(), framework.NewWebsite(namespace, "kubia", test.tweak),
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if len(test.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
				t.Fatalf("creating the Website: %v, want a rejection", err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("creating the Website: %v, want %q in it", err, part)
				}
			}
		})
	}
	t.Run("a host that is set already", func(t *testing.T) {
		w, err := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1beta1().Websites(namespace).Create(t.Context(),
			framework.NewWebsite(namespace, "given", withHosts("given.example.test")), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.Spec.Replicas = new(int32)
		if _, err := websites.Update(t.Context(), w, metav1.UpdateOptions{}); err != nil {
			t.Errorf("changing something else: %v", err)
		}
	})
	t.Run("the example of a role", func(t *testing.T) {
		framework.Kubectl(t, "apply", "-n", namespace, "-f",
			framework.Path("artifacts", "examples", "policies", "hosts-role.yaml"))
		config := rest.CopyConfig(config)
		for _, example := range []string{"hosts.yaml", "previews.yaml"} {
			data, err := os.ReadFile(framework.Path("artifacts", "examples", example))
			if err != nil {
				t.Fatal(err)
			}
			w := &v1beta1.Website{}
			if err := yaml.UnmarshalStrict(data, w); err != nil {
				t.Fatal(err)
			}
			create := func(groups ...string) error {
				config.Impersonate.Groups = groups
				_, err := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace).Create(t.Context(), w,
					metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err
			}
			if err := create(); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "requires use on websitehosts") {
				t.Errorf("creating %s: %v, want a rejection", example, err)
			}
			framework.WaitFor(t, "members of site-team create "+example,
				func(context.Context) error { return create("site-team") })
		}
	})
}

// TestHostsWithoutPermission: by default, the server accepts a host without permission with a
// warning, and with Off without one.
func TestHostsWithoutPermission(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	user, host := namespace+"-editor", namespace+".example.test"
	framework.Bind(t, namespace, user, "ClusterRole", "edit")
	byDefault := framework.Cluster.AdminConfig()
	warning := fmt.Sprintf("spec.hosts[0].name: requires use on websitehosts %q in namespace %q: ask for a role that "+
		"grants it. "+
		"It is accepted because website-apiserver has --host-authorization=Warn", host, namespace)
	for name, test := range map[string]struct {
		config *rest.Config
		want   []string
	}{
		"default": {config: byDefault, want: []string{warning}},
		"Off":     {config: framework.NewServer(t, "--host-authorization=Off").Config(t)},
	} {
		t.Run(name, func(t *testing.T) {
			config, recorder := rest.CopyConfig(test.config), &warned{}
			config.Impersonate.UserName, config.WarningHandler = user, recorder
			websites := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace)
			w, err := websites.Create(t.Context(), framework.NewWebsite(namespace, strings.ToLower(name), withHosts(host)),
				metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			w.Spec.Replicas = new(int32(2))
			if _, err := websites.Update(t.Context(), w, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(recorder.texts, test.want) {
				t.Errorf("warnings %q, want %q", recorder.texts, test.want)
			}
		})
	}
}

// TestHostWarning: the host of an older Website draws a warning, which names that Website only to
// users with permission to get it.
func TestHostWarning(t *testing.T) {
	t.Parallel()
	first, second := framework.NewNamespace(t), framework.NewNamespace(t)
	host := first + ".example.test"
	framework.MustCreate(t, framework.NewWebsite(first, "older", withHosts(host)))
	user := second + "-editor"
	framework.Bind(t, second, user, "ClusterRole", "edit")
	framework.Allow(t, second, user, rbacv1.PolicyRule{APIGroups: []string{v1beta1.GroupName},
		Resources: []string{"websitehosts"}, Verbs: []string{"use"}})
	asUser, err := framework.Cluster.UserConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	asAdmin := framework.Cluster.AdminConfig()
	const consequence = ": requests for it do not reach this Website until the other one gives it up"
	tests := map[string]struct {
		config *rest.Config
		hosts  []string
		want   []string
	}{
		"a user of the other namespace": {config: asUser, hosts: []string{host},
			want: []string{`spec.hosts[0].name: another Website has the host "` + host + `"` + consequence}},
		"a user of both": {
			config: asAdmin, hosts: []string{"x." + host, host},
			want: []string{`spec.hosts[1].name: the Website "older" of namespace "` + first + `" has the host "` + host +
				`"` + consequence},
		},
		"a host of no other Website": {config: asUser, hosts: []string{"x." + host}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			recorder := &warned{}
			config := rest.CopyConfig(test.config)
			config.WarningHandler = recorder
			websites := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(second)
			if _, err := websites.Create(t.Context(), framework.NewWebsite(second, "younger", withHosts(test.hosts...)),
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(recorder.texts, test.want) {
				t.Errorf("warnings %q, want %q", recorder.texts, test.want)
			}
		})
	}
}

// TestExamplePolicyOfHosts binds the policy to one namespace: unchanged, it would deny the hosts of
// other tests.
func TestExamplePolicyOfHosts(t *testing.T) {
	t.Parallel()
	file := framework.Path("artifacts", "examples", "policies", "hosts.yaml")
	framework.Kubectl(t, "apply", "--dry-run=server", "-f", file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var shipped admissionregistrationv1.ValidatingAdmissionPolicy
	if err := yaml.UnmarshalStrict([]byte(strings.Split(string(data), "\n---\n")[0]), &shipped); err != nil {
		t.Fatal(err)
	}
	policies := framework.Admin(t).Kubernetes.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy, err := policies.Create(t.Context(), &shipped, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, policies, policy.Name)
	namespace := framework.NewNamespace(t)
	framework.Kubectl(t, "annotate", "namespace", namespace, "website-domains=example.com, *.example.org")
	bind(t, policy, namespace, nil)

	create := func(ctx context.Context, hosts ...string) error {
		_, err := framework.Websites(t, namespace).Create(ctx, framework.NewWebsite(namespace, "kubia", withHosts(hosts...)),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	const denial = "may only use hosts of its annotation website-domains: example.com, *.example.org"
	for _, host := range []string{"www.example.com", "*.example.com", "example.org", "evilexample.org", "example.net"} {
		framework.WaitFor(t, "the policy denies "+host, func(ctx context.Context) error {
			if err := create(ctx, "example.com", host); err == nil || !strings.Contains(err.Error(), denial) {
				return fmt.Errorf("creating a Website with the host: %v", err)
			}
			return nil
		})
	}
	for _, hosts := range [][]string{nil, {"example.com"}, {"www.example.org", "*.example.org", "a.b.example.org"}} {
		if err := create(t.Context(), hosts...); err != nil {
			t.Errorf("hosts %v: %v", hosts, err)
		}
	}
}

// TestHostsOfSeveralManagers: hosts are a map by name. Each manager applies its own entries, and
// roles do not depend on their order.
func TestHostsOfSeveralManagers(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	apply := func(manager, spec string) (*v1beta1.Website, error) {
		manifest := fmt.Sprintf("apiVersion: %s\nkind: Website\nmetadata: {name: shop}\nspec: {%s}\n",
			v1beta1.SchemeGroupVersion, spec)
		return websites.Patch(t.Context(), "shop", types.ApplyPatchType, []byte(manifest),
			metav1.PatchOptions{FieldManager: manager})
	}
	const source = "source: {git: {repository: 'https://example.com/site.git'}}"
	if _, err := apply("team", source+", hosts: [{name: old.example.test, role: Redirect}]"); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), "spec.hosts[0].role") {
		t.Errorf("a redirect to nothing: %v, want it invalid", err)
	}
	if _, err := apply("team", source+", hosts: [{name: www.example.test, role: Canonical}]"); err != nil {
		t.Fatal(err)
	}
	got, err := apply("marketing", "hosts: [{name: old.example.test, role: Redirect}, {name: a.example.test}]")
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]v1beta1.HostRole{}
	for _, host := range got.Spec.Hosts {
		roles[host.Name] = host.Role
	}
	if want := map[string]v1beta1.HostRole{"www.example.test": "Canonical", "old.example.test": "Redirect",
		"a.example.test": "Alias"}; !maps.Equal(roles, want) {
		t.Errorf("the hosts are %v, want %v", roles, want)
	}
	if _, err := apply("marketing", "hosts: [{name: a.example.test, role: Canonical}]"); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), "only one host may be canonical") {
		t.Errorf("a second canonical host: %v, want it invalid", err)
	}
	if got, err = apply("marketing", "hosts: [{name: a.example.test}]"); err != nil || len(got.Spec.Hosts) != 2 {
		t.Errorf("after the redirect is given up, the hosts are %+v (%v), want two", got.Spec.Hosts, err)
	}
}

// TestTLS: the mode selects the member to set, and false is kept.
func TestTLS(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "shop", withHosts("shop.example.test")))
	for name, test := range map[string]struct{ tls, want string }{
		"no mode":                 {`{"redirect":false}`, "spec.tls.mode: Required value"},
		"a Secret without one":    {`{"mode":"Secret"}`, "spec.tls.secretRef"},
		"a Secret that is unused": {`{"mode":"Listener","secretRef":{"name":"certificate"}}`, "spec.tls.secretRef"},
		"another mode":            {`{"mode":"Off"}`, "spec.tls.mode: Unsupported value"},
	} {
		_, stderr, err := framework.Cluster.Kubectl(t.Context(), "patch", "website", "shop", "-n", namespace, "--type=merge",
			"-p", `{"spec":{"tls":`+test.tls+`}}`)
		if err == nil || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: %v, %s, want %q", name, err, stderr, test.want)
		}
	}
	framework.Kubectl(t, "patch", "website", "shop", "-n", namespace, "--type=merge", "-p",
		`{"spec":{"tls":{"mode":"Issuer","issuerRef":{"name":"ca"},"redirect":false}}}`)
	if got := framework.Kubectl(
		t, "get", "website", "shop", "-n", namespace, "--output=jsonpath={.spec.tls}",
	); got != `{"issuerRef":{"group":"cert-manager.io","kind":"Issuer","name":"ca"},"mode":"Issuer","redirect":false}` {
		t.Errorf("spec.tls is %s", got)
	}
}
