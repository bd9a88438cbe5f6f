package crdimport

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apiserver/backup"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

const (
	// pollInterval is the time between two reads while waiting.
	pollInterval = time.Second
	// waitTimeout bounds the wait for another component.
	waitTimeout = 5 * time.Minute
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	websites = v1alpha1.SchemeGroupVersion.WithResource("websites")
	// DefinitionName is the name of the CustomResourceDefinition.
	DefinitionName = website.Resource("websites").String()
	apiServiceName = v1alpha1.SchemeGroupVersion.Version + "." + website.GroupName
)

// Config configures an Importer.
type Config struct {
	// Host is the configuration of a client of the host cluster.
	Host *rest.Config
	// Websites accesses the Websites of website-apiserver's store, and Store configures the
	// verification of that.
	Websites *backup.Websites
	Store    store.Config
	// PropagationDelay is the time in which every kube-apiserver observes a change.
	PropagationDelay time.Duration
	// Out gets a line at the beginning and the end of a step.
	Out io.Writer
}

// Importer imports Websites.
type Importer struct {
	config      Config
	kube        kubernetes.Interface
	dynamic     dynamic.Interface
	apiServices apiregistration.APIServiceInterface
	// frozenBy is the UID of the policy that rejects writes for this command.
	frozenBy types.UID
}

// New returns an Importer that has not started.
func New(config Config) (*Importer, error) {
	kube, err := kubernetes.NewForConfig(config.Host)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	// v1alpha1 is deprecated, and each response of its storage has a warning.
	quiet := rest.CopyConfig(config.Host)
	quiet.WarningHandler = rest.NoWarnings{}
	dynamicClient, err := dynamic.NewForConfig(quiet)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	aggregation, err := aggregator.NewForConfig(config.Host)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &Importer{config: config, kube: kube, dynamic: dynamicClient,
		apiServices: aggregation.ApiregistrationV1().APIServices()}, nil
}

func (i *Importer) printf(format string, args ...any) {
	fmt.Fprintf(i.config.Out, format+"\n", args...)
}

// waitFor waits until condition returns nil.
func (i *Importer) waitFor(ctx context.Context, what string, condition func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, waitTimeout, true, func(ctx context.Context) (bool, error) {
		last = condition(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s: %w", what, last)
	}
	return nil
}

// propagate waits until every kube-apiserver has observed the last change.
func (i *Importer) propagate(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(i.config.PropagationDelay):
		return nil
	}
}
