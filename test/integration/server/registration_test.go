package server

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	aggregatorv1 "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

// rotationTime is the duration of the rotation under load. The CA is first replaced after
// 160 seconds.
var rotationTime = flag.Duration("rotation", 20*time.Second,
	"how long TestRegistration rotates certificates under load")

var registeredNames = []string{"v1alpha1.mycontroller.nevermosby.io", "v1beta1.mycontroller.nevermosby.io"}

// TestRegistration starts a server that generates its serving certificate and registers
// itself, rotates the certificate under load, and removes the API again.
func TestRegistration(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cluster := framework.StartCluster(t, devcluster.Options{WithoutController: true})
	config := cluster.AdminConfig()
	config.QPS = -1
	clients := framework.NewClients(t, config)
	aggregation, err := aggregator.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	apiServices := aggregation.ApiregistrationV1().APIServices()

	// The server replaces the one that the cluster started and registered.
	if err := cluster.Process("website-apiserver").Stop(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range registeredNames {
		if err := apiServices.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	watch := watchAPIServices(t, apiServices)
	address, err := url.Parse(cluster.WebsiteAPIServerURL())
	if err != nil {
		t.Fatal(err)
	}
	service := "--service=website-system/website-apiserver:" + address.Port()
	server, _, err := cluster.StartAPIServer(ctx, "apiserver-registration", "--secure-port="+address.Port(),
		"--tls-cert-file=", "--tls-private-key-file=", service, "--serving-certificate-duration=1m")
	if err != nil {
		t.Fatal(err)
	}
	namespace := metav1.NamespaceDefault
	framework.WaitFor(t, "the API is registered", func(ctx context.Context) error {
		_, err := clients.Websites.WebsiteV1beta1().Websites(namespace).Create(ctx, framework.NewWebsite(namespace, "kubia"),
			metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		return err
	})

	var requests, failures atomic.Int64
	loadCtx, stopLoad := context.WithCancel(ctx)
	var load sync.WaitGroup
	// A hundred requests per second see each rotation, and leave the processors to other tests.
	pace := rate.NewLimiter(100, 1)
	for range 4 {
		load.Go(func() {
			for pace.Wait(loadCtx) == nil {
				_, err := clients.Websites.WebsiteV1beta1().Websites(namespace).Get(loadCtx, "kubia", metav1.GetOptions{})
				if err == nil {
					requests.Add(1)
				} else if loadCtx.Err() == nil && failures.Add(1) <= 5 {
					t.Errorf("a request while certificates are rotated: %v", err)
				}
			}
		})
	}
	leaves, authorities := sets.New[string](), sets.New[string]()
	framework.WaitWithin(t, *rotationTime+framework.WaitTimeout, "certificates are rotated",
		func(ctx context.Context) error {
			secret, err := clients.Kubernetes.CoreV1().Secrets("website-system").Get(ctx, "website-apiserver-serving-cert",
				metav1.GetOptions{})
			if err != nil {
				return err
			}
			leaf, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
			if err != nil {
				return err
			}
			leaves.Insert(leaf.Leaf.SerialNumber.String())
			authorities.Insert(leaf.Leaf.Issuer.CommonName)
			if watch.age() < *rotationTime || len(leaves) < 2 {
				return fmt.Errorf("%d certificates by %d CAs so far", len(leaves), len(authorities))
			}
			return nil
		})
	stopLoad()
	load.Wait()
	t.Logf("%d requests, %d failed; %d certificates by %d CAs in %s", requests.Load(), failures.Load(), len(leaves),
		len(authorities), watch.age().Round(time.Second))
	watch.stopAndCheck(t)

	t.Run("uninstall", func(t *testing.T) {
		output, err := exec.CommandContext(ctx, server.Args()[0], "uninstall", "--minimum-age=0",
			"--kubeconfig="+cluster.Kubeconfig(), service).CombinedOutput()
		if err != nil || !strings.Contains(string(output), "deleted APIService "+registeredNames[1]) {
			t.Fatalf("uninstall: %v: %s", err, output)
		}
		if left := registered(ctx, t, apiServices); len(left) > 0 {
			t.Errorf("after uninstall, there is %v", left)
		}
		// The command recommends this.
		disabled(t, clients.Kubernetes, `null`)
		framework.WaitFor(t, "the API is registered again", func(ctx context.Context) error {
			if left := registered(ctx, t, apiServices); len(left) != len(registeredNames) {
				return fmt.Errorf("registered: %v", left)
			}
			_, err := clients.Websites.WebsiteV1beta1().Websites(namespace).Get(ctx, "kubia", metav1.GetOptions{})
			return err
		})
	})
	t.Run("deleted by mistake", func(t *testing.T) {
		if err := apiServices.Delete(ctx, registeredNames[0], metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		framework.WaitFor(t, "the APIService is back", func(ctx context.Context) error {
			_, err := apiServices.Get(ctx, registeredNames[0], metav1.GetOptions{})
			return err
		})
	})
}

// registered returns the names of the APIServices of the group.
func registered(ctx context.Context, t *testing.T, client aggregatorv1.APIServiceInterface) []string {
	t.Helper()
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		if slices.Contains(registeredNames, item.Name) {
			names = append(names, item.Name)
		}
	}
	return names
}

// disabled sets the annotation of the Service by which registration is disabled.
func disabled(t *testing.T, client kubernetes.Interface, value string) {
	t.Helper()
	patch := `{"metadata":{"annotations":{"mycontroller.nevermosby.io/registration":` + value + `}}}`
	if _, err := client.CoreV1().Services("website-system").Patch(t.Context(), "website-apiserver", types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// apiServiceWatch records every moment at which an APIService is not available.
type apiServiceWatch struct {
	start time.Time
	stop  context.CancelFunc
	done  chan error
	flaps []string
}

func watchAPIServices(t *testing.T, client aggregatorv1.APIServiceInterface) *apiServiceWatch {
	t.Helper()
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	watcher, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	w := &apiServiceWatch{start: time.Now(), stop: stop, done: make(chan error, 1)}
	go func() {
		for event := range watcher.ResultChan() {
			service, ok := event.Object.(*apiregistrationv1.APIService)
			if !ok || !slices.Contains(registeredNames, service.Name) || event.Type == "DELETED" {
				continue
			}
			for _, condition := range service.Status.Conditions {
				if condition.Type == apiregistrationv1.Available && condition.Status != apiregistrationv1.ConditionTrue {
					w.flaps = append(w.flaps, fmt.Sprintf("%s: %s: %s", service.Name, condition.Reason, condition.Message))
				}
			}
		}
		if ctx.Err() == nil {
			w.done <- errors.New("the watch of APIServices ended")
		}
		close(w.done)
	}()
	return w
}

func (w *apiServiceWatch) age() time.Duration { return time.Since(w.start) }

// stopAndCheck fails the test if an APIService was unavailable at any time.
func (w *apiServiceWatch) stopAndCheck(t *testing.T) {
	t.Helper()
	w.stop()
	if err := <-w.done; err != nil {
		t.Error(err)
	}
	for _, flap := range w.flaps {
		t.Errorf("an APIService was not available: %s", flap)
	}
}
