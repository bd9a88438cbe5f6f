package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestChildrenFollowTheSpec changes fields that only v1beta1 has.
func TestChildrenFollowTheSpec(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	if _, err := client.Websites.WebsiteV1beta1().Websites(namespace).Create(ctx,
		framework.NewWebsite(namespace, "kubia", framework.Detailed), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitAvailable(t, framework.NewV1alpha1(namespace, "kubia"), 1)

	hasArgs := func(want ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			deployment, err := client.Kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia", metav1.GetOptions{})
			if err != nil {
				return err
			}
			args := deployment.Spec.Template.Spec.InitContainers[1].Args
			for _, arg := range want {
				if !slices.Contains(args, arg) {
					return fmt.Errorf("arguments of the agent = %q, want %q", args, arg)
				}
			}
			return nil
		}
	}
	// The Deployment is named like the Website by default.
	framework.WaitFor(t, "the agent follows the branch", hasArgs("--ref=refs/heads/live", "--period=10s"))
	service, err := client.Kubernetes.CoreV1().Services(namespace).Get(ctx, "kubia-npsvc", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if service.Spec.Type != corev1.ServiceTypeClusterIP {
		t.Errorf("type of the Service = %s, want ClusterIP", service.Spec.Type)
	}
	configMap, err := framework.NginxConfigMap(ctx, client.Kubernetes, namespace, "kubia")
	if err != nil {
		t.Fatal(err)
	}
	config, err := client.Kubernetes.CoreV1().ConfigMaps(namespace).Get(ctx, configMap, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`location = "/old"`, `return 301 "/new$is_args$args"`, `$served/public";`} {
		if !strings.Contains(config.Data["nginx.conf"], want) {
			t.Errorf("the nginx configuration lacks %s", want)
		}
	}

	framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p",
		`{"spec":{"source":{"git":{"ref":{"branch":null,"tag":"v1"}}},"service":{"type":"NodePort"}}}`)
	framework.WaitFor(t, "the agent follows the tag", hasArgs("--ref=refs/tags/v1"))
	framework.WaitFor(t, "the status has the node port", func(ctx context.Context) error {
		w, err := client.Websites.WebsiteV1beta1().Websites(namespace).Get(ctx, "kubia", metav1.GetOptions{})
		if err == nil && (w.Status.NodePort == 0 || w.Status.ObservedGeneration != w.Generation) {
			err = fmt.Errorf("status = %+v", w.Status)
		}
		return err
	})
}
