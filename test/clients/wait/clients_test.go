package wait

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

var (
	errFailed   = errors.New("the client reports a failure")
	errTimedOut = errors.New("the client has waited in vain")
)

// clients wait until a Website is ready, or return errFailed or errTimedOut.
var clients = map[string]func(t *testing.T, website *v1beta1.Website, timeout time.Duration) error{
	"kubectl": waitWithKubectl,
	"kstatus": waitWithKstatus,
	"Helm":    waitWithHelm,
}

// waitWithKubectl waits for a condition. kubectl cannot detect failures.
func waitWithKubectl(t *testing.T, website *v1beta1.Website, timeout time.Duration) error {
	stdout, stderr, err := framework.Cluster.Kubectl(t.Context(), "wait", "--for=condition=Ready", "website/"+website.Name,
		"-n", website.Namespace, fmt.Sprintf("--timeout=%v", timeout))
	if err != nil && strings.Contains(stderr, "timed out") {
		return errTimedOut
	}
	if err != nil {
		return fmt.Errorf("%w: %s%s", err, stdout, stderr)
	}
	return nil
}

func waitWithKstatus(t *testing.T, website *v1beta1.Website, timeout time.Duration) error {
	return poll(t, website, timeout, func(current *unstructured.Unstructured) (bool, error) {
		result, err := status.Compute(current)
		if err == nil && result.Status == status.FailedStatus {
			err = fmt.Errorf("%w: %s", errFailed, result.Message)
		}
		return err == nil && result.Status == status.CurrentStatus, err
	})
}

// waitWithHelm waits as "helm install --wait" of Helm 4 does.
func waitWithHelm(t *testing.T, website *v1beta1.Website, timeout time.Duration) error {
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = new(framework.Cluster.Kubeconfig()), &website.Namespace
	helm := kube.New(flags)
	manifest, err := yaml.Marshal(identify(website).Object)
	if err != nil {
		return err
	}
	resources, err := helm.Build(bytes.NewReader(manifest), false)
	if err != nil {
		return err
	}
	waiter, err := helm.GetWaiter(kube.StatusWatcherStrategy)
	if err != nil {
		return err
	}
	return verdict(waiter.Wait(resources, timeout))
}

// verdict interprets the error of a client of kstatus.
func verdict(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "Failed"):
		return fmt.Errorf("%w: %w", errFailed, err)
	case strings.Contains(err.Error(), "InProgress"):
		return fmt.Errorf("%w: %w", errTimedOut, err)
	default:
		return err
	}
}

// poll reads a Website until done returns true or an error.
func poll(t *testing.T, website *v1beta1.Website, timeout time.Duration,
	done func(*unstructured.Unstructured) (bool, error)) error {
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, timeout, true,
		func(ctx context.Context) (bool, error) {
			return done(get(t, website))
		})
	if wait.Interrupted(err) {
		return errTimedOut
	}
	return err
}

// get returns a Website as clients without its Go type read it.
func get(t *testing.T, website *v1beta1.Website) *unstructured.Unstructured {
	t.Helper()
	dynamicClient, err := dynamic.NewForConfig(adminConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	websites := dynamicClient.Resource(v1beta1.SchemeGroupVersion.WithResource("websites")).Namespace(website.Namespace)
	current, err := websites.Get(t.Context(), website.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return current
}

func adminConfig(t *testing.T) *rest.Config {
	t.Helper()
	config := framework.Cluster.AdminConfig()
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	return config
}

// identify returns an object with only the identity of a Website.
func identify(website *v1beta1.Website) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind("Website"))
	object.SetNamespace(website.Namespace)
	object.SetName(website.Name)
	return object
}
