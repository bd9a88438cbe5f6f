package outage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/kubesites/website-apiserver/test/framework"
)

// othersWork uses the parts of the cluster that are unrelated to Websites.
func othersWork(t *testing.T, namespace string, round int) {
	t.Helper()
	kubectlWorks(t, namespace)
	openAPIIsServed(t)
	helmInstalls(t, namespace, fmt.Sprintf("release-%d", round))
	garbageIsCollected(t, namespace, fmt.Sprintf("owner-%d", round))
	apiServicesAreAvailable(t)
}

func kubectlWorks(t *testing.T, namespace string) {
	t.Helper()
	stdout, stderr, err := framework.Cluster.Kubectl(t.Context(), "api-resources")
	if err != nil || stderr != "" || !strings.Contains(stdout, "websites") {
		t.Errorf("kubectl api-resources: %v: %s", err, stderr)
	}
	start := time.Now()
	stdout, stderr, err = framework.Cluster.Kubectl(t.Context(), "get", "all", "-n", namespace)
	took := time.Since(start)
	t.Logf("kubectl get all: %s after %s", strings.TrimSpace(stderr), took)
	// Websites are not in the category "all".
	if err != nil || stderr != "" || took > answerTime {
		t.Errorf("kubectl get all without etcd: %v after %s: %s; want no error within 3s", err, took, stderr)
	}
	if !strings.Contains(stdout, "deployment.apps/") {
		t.Errorf("kubectl get all printed %q, want the Deployment of the Website", stdout)
	}
}

// openAPIIsServed fetches the documents as Argo CD does: v2 as protobuf, and v3 of each
// version of a group.
func openAPIIsServed(t *testing.T) {
	t.Helper()
	discovery := framework.Admin(t).Kubernetes.Discovery()
	if document, err := discovery.OpenAPISchema(); err != nil || !strings.Contains(document.String(), "mycontroller") {
		t.Errorf("OpenAPI v2: %v, want it with Websites", err)
	}
	paths, err := discovery.OpenAPIV3().Paths()
	if err != nil {
		t.Errorf("OpenAPI v3: %v", err)
		return
	}
	if _, ok := paths["apis/mycontroller.nevermosby.io/v1beta1"]; !ok {
		t.Errorf("OpenAPI v3 has %d paths, none of Websites", len(paths))
	}
	for path, version := range paths {
		// Both servers have other documents, such as "version". kube-apiserver does not
		// follow the redirect to the current hash when it fetches a document from
		// another replica.
		if path != "api/v1" && strings.Count(path, "/") != 2 {
			continue
		}
		if schema, err := version.Schema("application/json"); err != nil || !json.Valid(schema) {
			t.Errorf("OpenAPI v3 of %s: %v", path, err)
		}
	}
}

func helmInstalls(t *testing.T, namespace, release string) {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = new(framework.Cluster.Kubeconfig()), &namespace
	configuration := action.NewConfiguration()
	if err := configuration.Init(flags, namespace, "secrets"); err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace, install.Timeout = release, namespace, framework.WaitTimeout
	install.WaitStrategy = kube.StatusWatcherStrategy
	_, err := install.RunWithContext(t.Context(), &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "unrelated", Version: "1.0.0"},
		Templates: []*common.File{{Name: "templates/configmap.yaml", Data: []byte(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\"}\ndata: {a: b}\n")}},
	}, nil)
	if err != nil {
		t.Errorf("helm install: %v", err)
		return
	}
	uninstall := action.NewUninstall(configuration)
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, framework.WaitTimeout
	if _, err := uninstall.Run(release); err != nil {
		t.Errorf("helm uninstall: %v", err)
	}
}

// garbageIsCollected deletes an object, and waits until the one that it owns is deleted.
func garbageIsCollected(t *testing.T, namespace, name string) {
	t.Helper()
	ctx, configMaps := t.Context(), framework.Admin(t).Kubernetes.CoreV1().ConfigMaps(namespace)
	owner, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-owned",
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}}}
	if _, err := configMaps.Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := configMaps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the garbage collector deletes the object without an owner", func(ctx context.Context) error {
		_, err := configMaps.Get(ctx, owned.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("it is there")
		default:
			return err
		}
	})
}

func apiServicesAreAvailable(t *testing.T) {
	t.Helper()
	client, err := aggregator.NewForConfig(framework.AdminConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		service, err := client.ApiregistrationV1().APIServices().Get(t.Context(), version+".mycontroller.nevermosby.io",
			metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range service.Status.Conditions {
			if condition.Type == apiregistrationv1.Available && condition.Status != apiregistrationv1.ConditionTrue {
				t.Errorf("the APIService %s is not available: %s", service.Name, condition.Message)
			}
		}
	}
}

// controllerManagerRestarts measures the time until a kube-controller-manager that
// starts without the Websites' etcd counts quotas and collects garbage. It gets the list
// of Websites from the watch cache.
func controllerManagerRestarts(t *testing.T, namespace string) {
	t.Helper()
	if err := framework.Cluster.Process("kube-controller-manager").Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	quotas := framework.Admin(t).Kubernetes.CoreV1().ResourceQuotas(namespace)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "configmaps"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("100")}}}
	if _, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the quota is counted", func(ctx context.Context) error {
		got, err := quotas.Get(ctx, quota.Name, metav1.GetOptions{})
		if err == nil && len(got.Status.Used) == 0 {
			err = errors.New("nothing is counted")
		}
		return err
	})
	t.Logf("the first quota is counted %s after a restart of kube-controller-manager", time.Since(start))
	garbageIsCollected(t, namespace, "owner-after-restart")
	t.Logf("garbage is collected %s after a restart of kube-controller-manager", time.Since(start))
}
