package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestHostThatLacksPolicies simulates an older host cluster by disabling resources that it lacks:
// the server works without them and logs it.
func TestHostThatLacksPolicies(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	const name = "kube-apiserver-older"
	older, url, err := framework.Cluster.StartKubeAPIServer(ctx, name,
		"--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false,"+
			"admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings=false,flowcontrol.apiserver.k8s.io/v1=false",
		"--disable-admission-plugins=MutatingAdmissionPolicy", "--enable-priority-and-fairness=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := older.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	config, err := framework.Cluster.UserConfig("system:serviceaccount:website-system:website-apiserver",
		"system:serviceaccounts", "system:serviceaccounts:website-system")
	if err != nil {
		t.Fatal(err)
	}
	config.Host = url
	file := framework.WriteKubeconfig(t, config)
	s := framework.NewServer(t, "--kubeconfig="+file, "--authentication-kubeconfig="+file,
		"--authorization-kubeconfig="+file)

	log := s.Log(t)
	for _, want := range []string{
		`Admission plugin is disabled: the host cluster does not serve the resources that it reads. Restart this server ` +
			`after an upgrade of the host" plugin="MutatingAdmissionPolicy"`,
		`Priority and fairness is disabled`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if strings.Contains(log, `plugin="ValidatingAdmissionPolicy"`) {
		t.Error("ValidatingAdmissionPolicy is off although the host serves it")
	}
	client := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1alpha1().Websites(namespace)
	if _, err := client.Create(ctx, framework.NewV1alpha1(namespace, "kubia"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a write: %v", err)
	}
}

// TestPoliciesThatMayNotBeRead withdraws one permission from the server. It must not ignore
// unreadable policies: it is unready, names the missing permission, rejects writes without delay,
// and recovers without a restart.
func TestPoliciesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	framework.RequireResource(t, "admissionregistration.k8s.io/v1", "mutatingadmissionpolicies")
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	rbac := framework.Admin(t).Kubernetes.RbacV1()
	user := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "apiserver-of-" + namespace}}
	whole, err := rbac.ClusterRoles().Get(ctx, "website-apiserver", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-" + namespace}}
	for _, rule := range whole.Rules {
		rule.Resources = slices.DeleteFunc(slices.Clone(rule.Resources),
			func(r string) bool { return r == "mutatingadmissionpolicies" })
		role.Rules = append(role.Rules, rule)
	}
	if role, err = rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rbac.ClusterRoles().Delete(context.Background(), role.Name, metav1.DeleteOptions{}) })
	for _, bound := range []string{role.Name, "system:auth-delegator"} {
		binding, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Subjects: user,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: bound},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = rbac.ClusterRoleBindings().Delete(context.Background(), binding.Name, metav1.DeleteOptions{})
		})
	}
	reader, err := rbac.RoleBindings("kube-system").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Subjects: user,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = rbac.RoleBindings("kube-system").Delete(context.Background(), reader.Name, metav1.DeleteOptions{})
	})

	config, err := framework.Cluster.UserConfig(user[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	file := framework.WriteKubeconfig(t, config)
	s := framework.StartServer(t, "--kubeconfig="+file, "--authentication-kubeconfig="+file,
		"--authorization-kubeconfig="+file)
	s.WaitUnready(t, "informer-sync")
	framework.WaitFor(t, "the log names the missing permission", func(context.Context) error {
		want := `cannot list resource "mutatingadmissionpolicies" in API group "admissionregistration.k8s.io"`
		if !strings.Contains(strings.ReplaceAll(s.Log(t), `\"`, `"`), want) {
			return fmt.Errorf("no %q", want)
		}
		return nil
	})
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1alpha1().Websites(namespace)
	// Every client is anonymous until the server has read the CA of clients.
	framework.WaitFor(t, "a write is answered", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		if _, err := websites.Create(ctx, framework.NewV1alpha1(namespace, "early"), metav1.CreateOptions{}); err == nil ||
			!strings.Contains(err.Error(), "not yet ready to handle request") {
			return fmt.Errorf("got %v, want that it is not ready", err)
		}
		return nil
	})

	role.Rules = whole.Rules
	if _, err := rbac.ClusterRoles().Update(ctx, role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := websites.Create(ctx, framework.NewV1alpha1(namespace, "kubia"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a write once policies can be read: %v", err)
	}
}
