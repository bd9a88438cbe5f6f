package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestLeaderIsDeleted deletes the pod of the leader of two website-controllers: the other one
// becomes the leader, and reports later pushes. It is not parallel: it scales the controller.
func TestLeaderIsDeleted(t *testing.T) {
	s := newSite(t)
	t.Cleanup(func() {
		if err := framework.ScaleController(context.Background(), t, 1); err != nil {
			t.Error(err)
		}
	})
	if err := framework.ScaleController(t.Context(), t, 2); err != nil {
		t.Fatal(err)
	}
	client := framework.Admin(t).Kubernetes
	// The identity of a controller is the name of its pod with a random suffix.
	leader := func(ctx context.Context) (string, error) {
		lease, err := client.CoordinationV1().Leases(framework.SystemNamespace).Get(ctx, "website-controller",
			metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		name, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
		_, err = client.CoreV1().Pods(framework.SystemNamespace).Get(ctx, name, metav1.GetOptions{})
		return name, err
	}
	var first string
	framework.WaitFor(t, "a pod is the leader", func(ctx context.Context) (err error) {
		first, err = leader(ctx)
		return err
	})
	if err := client.CoreV1().Pods(framework.SystemNamespace).Delete(t.Context(), first,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "another pod is the leader", func(ctx context.Context) error {
		now, err := leader(ctx)
		if err == nil && now == first {
			err = fmt.Errorf("%s is", now)
		}
		return err
	})
	s.waitReported(t, s.repository.release(t, "release-2"))
}

// TestWebhookInAPod makes website-apiserver, in its pod, call an admission webhook in another
// pod, by the name of its Service.
func TestWebhookInAPod(t *testing.T) {
	t.Parallel()
	const name = "webhook"
	namespace, client := newNamespace(t), framework.Admin(t).Kubernetes
	program := framework.BuildProgram(t, framework.Path("test"), "./e2e/webhook")
	const image = "example.com/" + name + ":1"
	if err := framework.Cluster.ImportProgram(t.Context(), image, program, "/"+name); err != nil {
		t.Fatal(err)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(name+"."+namespace+".svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	object := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}
	if _, err := client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: object, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: object, Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), FSGroup: ptr.To[int64](65532),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: name, Image: image, ImagePullPolicy: corev1.PullNever,
			Args: []string{"--tls-cert-file=/tls/" + corev1.TLSCertKey,
				"--tls-private-key-file=/tls/" + corev1.TLSPrivateKeyKey},
			VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/tls"}},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
		Volumes: []corev1.Volume{
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(),
		&corev1.Service{ObjectMeta: object, Spec: corev1.ServiceSpec{
			Selector: object.Labels, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(8443)}},
		}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	selector, rule := framework.RuleFor(namespace, admissionregistrationv1.Create)
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := configurations.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.example.com", Rules: []admissionregistrationv1.RuleWithOperations{rule}, NamespaceSelector: selector,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name}, CABundle: certificate,
			},
			SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, configurations, configuration.Name)

	r := newRepository(t, "", namespace, "main")
	websites := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace)
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	framework.WaitFor(t, "the pod denies a Website", func(ctx context.Context) error {
		w := newWebsite(namespace, r)
		w.Name = "forbidden"
		if _, err := websites.Create(ctx, w, dryRun); err == nil || !strings.Contains(err.Error(), "forbidden by a pod") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	w := newWebsite(namespace, r)
	w.Name = "permitted"
	if _, err := websites.Create(t.Context(), w, dryRun); err != nil {
		t.Errorf("a Website that the pod permits: %v", err)
	}
}
