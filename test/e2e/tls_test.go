package e2e

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/test/framework"
)

// overTLS has a repository fetched over https, without which there are no
// credentials, and the pods of a namespace trust its server.
func (r *repository) overTLS(t *testing.T, namespace string) {
	t.Helper()
	user, password, err := framework.Cluster.GitCredentials()
	if err != nil {
		t.Fatal(err)
	}
	credentials := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(credentials, []byte(user+":"+password), 0o600); err != nil {
		t.Fatal(err)
	}
	over, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	server, err := gitserver.StartTLS(gitserver.Options{
		Address: net.JoinHostPort(over.Hostname(), "0"), Dir: filepath.Dir(filepath.Dir(r.path)), CredentialsFile: credentials,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	r.url = server.URL + over.Path
	trust(t, namespace, server.CA)
}

// trustInPods adds a CA to git in the pods of Websites, as administrators do
// for one of their own.
const trustInPods = `Object{spec: Object.spec{
  volumes: [Object.spec.volumes{name: "git-ca", configMap: Object.spec.volumes.configMap{name: "git-ca"}}],
  initContainers: [Object.spec.initContainers{
    name: "git-sync",
    env: [Object.spec.initContainers.env{name: "GIT_SSL_CAINFO", value: "/etc/git-ca/ca.crt"}],
    volumeMounts: [Object.spec.initContainers.volumeMounts{name: "git-ca", mountPath: "/etc/git-ca", readOnly: true}]
  }]
}}`

// trust has git in the pods of a namespace trust a CA.
func trust(t *testing.T, namespace string, ca []byte) {
	t.Helper()
	ctx, client := t.Context(), framework.Admin(t).Kubernetes
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "git-ca"}, Data: map[string]string{"ca.crt": string(ca)},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	policies, bindings := client.AdmissionregistrationV1().MutatingAdmissionPolicies(), client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	name := "git-ca-of-" + namespace
	_, err := policies.Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "website-nginx"}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: trustInPods},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := policies.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	_, err = bindings.Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: name,
			MatchResources: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bindings.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	framework.WaitFor(t, "pods trust the git server", func(ctx context.Context) error {
		pod, err := client.CoreV1().Pods(namespace).Create(ctx, untrusting(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && len(pod.Spec.InitContainers[0].Env) == 0 {
			err = errors.New("a new pod is as it was sent")
		}
		return err
	})
}

// untrusting is a pod that looks like one of a Website.
func untrusting() *corev1.Pod {
	security := &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "untrusting", Labels: map[string]string{"app": "website-nginx"}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65533), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			InitContainers: []corev1.Container{{Name: "git-sync", Image: "example.com/git-sync", SecurityContext: security}},
			Containers:     []corev1.Container{{Name: "nginx", Image: "example.com/nginx", SecurityContext: security}},
		},
	}
}
