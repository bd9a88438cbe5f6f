package install

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/kubesites/website-apiserver/test/framework"
)

var withCertManager = flag.Bool("cert-manager", false, "install artifacts/components/cert-manager with cert-manager")

// servingSecret is the Secret that cert-manager writes for website-apiserver.
const servingSecret = "website-apiserver-serving-cert"

// TestCertManager installs artifacts/default with the component cert-manager, and makes
// cert-manager renew the serving certificate, and its CA, while clients list and write: no
// request fails.
func TestCertManager(t *testing.T) {
	if !*withCertManager {
		t.Skip("-cert-manager is not set: \"make test-cert-manager\" builds cert-manager, which takes minutes")
	}
	framework.RequireCluster(t)
	keepSystem(t)
	provideVolumes(t, 1)
	installDefinitions(t)
	// cert-manager's controllers run beside the cluster.
	framework.RunProgram(t, framework.BuildProgram(t, framework.Path("hack", "cert-manager"), "."),
		"--kubeconfig="+framework.Cluster.Kubeconfig())

	framework.Kubectl(t, "apply", "-k", component(t, "default", "cert-manager"))
	waitServed(t)
	namespace := framework.NewNamespace(t)
	publish(t, namespace, "first")
	waitPage(t, namespace, "first")
	requireBundle(t)

	lists, writes := startLists(t), startWrites(t, namespace, map[string]string{"first": ""})
	for _, step := range []struct{ name, certificate string }{
		{"certificate", "website-apiserver"},
		{"another certificate", "website-apiserver"},
		{"CA", "website-apiserver-ca"},
		{"certificate of another CA", "website-apiserver"},
	} {
		before := servingData(t)
		renew(t, step.certificate)
		if step.certificate == "website-apiserver" {
			waitServing(t, before)
			requireBundle(t)
		}
		writes.check(t)
		t.Logf("%s is renewed: %d writes are acknowledged, %d failed", step.name, writes.acknowledged.Load(),
			writes.failed.Load())
	}
	if count, failed, outage := lists.finish(); failed > 0 {
		t.Errorf("%d of %d lists failed, for %s", failed, count, outage)
	}
	if failed := writes.failed.Load(); failed > 0 {
		t.Errorf("%d writes failed", failed)
	}
}

// renew makes cert-manager issue a Certificate again, as "cmctl renew" does, and waits for it.
func renew(t *testing.T, certificate string) {
	t.Helper()
	revision := func() string {
		return framework.Kubectl(t, "get", "certificates.cert-manager.io", certificate, "--namespace="+systemNamespace,
			"--output=jsonpath={.status.revision}")
	}
	before := revision()
	const condition = `[{"op":"add","path":"/status/conditions/-","value":{"type":"Issuing","status":"True",` +
		`"reason":"ManuallyTriggered","message":"renewed by a test","lastTransitionTime":"2026-01-01T00:00:00Z"}}]`
	framework.Kubectl(t, "patch", "certificates.cert-manager.io", certificate, "--namespace="+systemNamespace,
		"--subresource=status", "--type=json", "--patch="+condition)
	framework.WaitFor(t, certificate+" is issued again", func(context.Context) error {
		if now := revision(); now == before {
			return fmt.Errorf("its revision is %s", now)
		}
		return nil
	})
	framework.Kubectl(t, "wait", kubectlTimeout, "--for=condition=Ready", "certificates.cert-manager.io/"+certificate,
		"--namespace="+systemNamespace)
}

func servingData(t *testing.T) map[string][]byte {
	t.Helper()
	secret, err := framework.Admin(t).Kubernetes.CoreV1().Secrets(systemNamespace).Get(t.Context(), servingSecret,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Data
}

// waitServing waits until the server presents a new certificate, the one in the Secret.
func waitServing(t *testing.T, before map[string][]byte) {
	t.Helper()
	want, _ := pem.Decode(servingData(t)[corev1.TLSCertKey])
	if old, _ := pem.Decode(before[corev1.TLSCertKey]); bytes.Equal(old.Bytes, want.Bytes) {
		t.Fatal("the Secret has the certificate of before")
	}
	framework.WaitFor(t, "the certificate is served", func(ctx context.Context) error {
		pods, err := framework.SystemPods(ctx, framework.Admin(t).Kubernetes, "website-apiserver")
		if err != nil || len(pods) != 1 {
			return fmt.Errorf("%d pods, %w", len(pods), err)
		}
		// The certificate is compared, not verified.
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(pods[0].Status.PodIP, "8443"))
		if err != nil {
			return err
		}
		defer func() { _ = connection.Close() }()
		if served := connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw; !bytes.Equal(served, want.Bytes) {
			return errors.New("the server has another one")
		}
		return nil
	})
}

// requireBundle waits until both APIServices trust the CA of the Secret, and no other.
func requireBundle(t *testing.T) {
	t.Helper()
	client, err := aggregator.NewForConfig(framework.AdminConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	ca := servingData(t)["ca.crt"]
	framework.WaitFor(t, "both APIServices trust the CA", func(ctx context.Context) error {
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			service, err := client.ApiregistrationV1().APIServices().Get(ctx, version+".mycontroller.nevermosby.io",
				metav1.GetOptions{})
			if err != nil {
				return err
			}
			if bundle := service.Spec.CABundle; !bytes.Equal(bytes.TrimSpace(bundle), bytes.TrimSpace(ca)) {
				return fmt.Errorf("%s trusts\n%s", service.Name, bundle)
			}
		}
		return nil
	})
}
