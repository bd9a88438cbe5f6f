package main

import (
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

const (
	leaseNamespace = "website-system"
	leaseName      = "scaffold-controller"

	// tunedReconciles is the default of website-controller.
	tunedReconciles = 5
)

// options are the flags, beside --kubeconfig, which controller-runtime registers.
type options struct {
	metrics, pprof string
	tuned          bool
}

func main() {
	var o options
	flag.StringVar(&o.metrics, "metrics-bind-address", "0", "The address of the metrics, or 0")
	flag.StringVar(&o.pprof, "pprof-bind-address", "", "The address of profiles, or nothing")
	flag.BoolVar(&o.tuned, "tuned", false, "Take the measures that the documentation describes for larger installations")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "scaffold-controller:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("reading --kubeconfig: %w", err)
	}
	types, err := newScheme()
	if err != nil {
		return err
	}
	managed := ctrl.Options{
		Scheme:           types,
		Metrics:          server.Options{BindAddress: o.metrics},
		PprofBindAddress: o.pprof,
		LeaderElection:   true, LeaderElectionID: leaseName, LeaderElectionNamespace: leaseNamespace,
		// The process ends with the manager, so a successor does not wait until the lease expires.
		LeaderElectionReleaseOnCancel: true,
	}
	if o.tuned {
		managed.Cache = tunedCache()
	}
	manager, err := ctrl.NewManager(config, managed)
	if err != nil {
		return fmt.Errorf("creating a manager: %w", err)
	}
	if err := setUp(manager, o.tuned); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

// setUp registers the reconciler.
func setUp(manager ctrl.Manager, tuned bool) error {
	var websites builder.Predicates
	var limits controller.Options
	if tuned {
		// Its own status updates do not cause a reconcile.
		websites = builder.WithPredicates(predicate.GenerationChangedPredicate{})
		limits.MaxConcurrentReconciles = tunedReconciles
	} else {
		websites = builder.WithPredicates()
	}
	err := ctrl.NewControllerManagedBy(manager).
		Named("website").
		For(&v1beta1.Website{}, websites).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		WithOptions(limits).
		Complete(&reconciler{Client: manager.GetClient(), scheme: manager.GetScheme(), compareStatus: tuned})
	if err != nil {
		return fmt.Errorf("creating the controller: %w", err)
	}
	return nil
}

// tunedCache caches only children with the label of the controller.
func tunedCache() cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{resources.LabelManagedBy: resources.ManagedBy})}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}: ours, &corev1.Service{}: ours, &corev1.ConfigMap{}: ours,
		},
	}
}

// newScheme registers the types of v1beta1 in the group of the definition.
func newScheme() (*runtime.Scheme, error) {
	types := runtime.NewScheme()
	if err := scheme.AddToScheme(types); err != nil {
		return nil, fmt.Errorf("registering the types of Kubernetes: %w", err)
	}
	addWebsites(types)
	return types, nil
}
