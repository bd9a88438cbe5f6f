package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/discovery"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/transport"
	"k8s.io/component-base/tracing"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/agentkeys"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/controller/website"
	"github.com/kubesites/website-apiserver/pkg/controller/website/events"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/unlabelled"
)

const (
	// drainTimeout is the time that work in flight may take after a signal. Releasing the Lease and
	// writing the last events and spans come after it: some seconds, or up to 25 more where the API
	// server does not respond.
	drainTimeout = 15 * time.Second
	// flushTimeout is the time for writing the last events.
	flushTimeout = 5 * time.Second
	// apiPollInterval is the polling interval of waitForAPI.
	apiPollInterval = time.Second
	// leaseGrace is the time from the expiry of a Lease that could not be renewed until the process
	// is unhealthy.
	leaseGrace = 20 * time.Second
)

// errLeaseLost ends a process that is no longer the leader: another replica may lead by now, so the
// workers must stop.
var errLeaseLost = errors.New("the leader lease was lost: it could not be renewed in time, or another replica took it")

// Instruments let a program that embeds the controller, such as a fault test, observe and disturb it.
type Instruments struct {
	// WrapTransport wraps every connection to the API server.
	WrapTransport transport.WrapperFunc
	// TracerProvider replaces the one that the flags configure.
	TracerProvider oteltrace.TracerProvider
	// TakeoverReadySeconds is the field of website.Config.
	TakeoverReadySeconds int32
	// AgentKeysPeriod is the Period of agentkeys.Config.
	AgentKeysPeriod time.Duration
	// DiscoveryPeriod is the period of routes.WatchConfig.
	DiscoveryPeriod time.Duration
}

// Run runs the controller until ctx ends. It returns nil when all work in flight has finished.
func Run(ctx context.Context, o *options.Options) error {
	provider, err := o.TracerProvider(ctx)
	if err != nil {
		return err
	}
	defer flushSpans(ctx, provider)

	dumps, stopDumps := context.WithCancel(context.WithoutCancel(ctx))
	defer dumpOnSignal(dumps)()
	defer stopDumps()
	return RunInstrumented(ctx, o, Instruments{WrapTransport: tracing.WrapperFor(provider), TracerProvider: provider})
}

// RunInstrumented is Run with instruments in the place of tracing.
func RunInstrumented(ctx context.Context, o *options.Options, instruments Instruments) error {
	clients, err := newClients(o, instruments.WrapTransport)
	if err != nil {
		return err
	}
	metrics.Register()

	recorder, err := events.NewRecorder(ctx, &clientevents.EventSinkImpl{Interface: clients.events.EventsV1()})
	if err != nil {
		return err
	}
	defer flush(ctx, recorder)

	websiteInformers := website.NewWebsiteInformers(clients.watchWebsites, o.WatchNamespace, resyncPeriod(o))
	childInformers := website.NewChildInformers(clients.watchKube, o.WatchNamespace)
	unlabelledChildren := unlabelled.New(clients.watchMetadata, o.WatchNamespace)
	pods, err := clients.pods(o)
	if err != nil {
		return err
	}
	controller, err := website.New(website.Config{
		Websites:         clients.websites,
		Kube:             clients.kube,
		WebsiteInformers: websiteInformers,
		ChildInformers:   childInformers,

		UnlabelledChildren: unlabelledChildren,

		Recorder: recorder,
		Installation: resources.Installation{
			Nginx: o.NginxImage, GitSync: o.GitSyncImage, Agent: o.AgentImage, PullSecrets: o.ImagePullSecrets,
			PlatformUserIDs: o.PlatformUserIDs, AccessLogFormat: resources.AccessLogFormat(o.AccessLogFormat),
			TrustedProxies: o.TrustedProxies,
			Proxy:          resources.Proxy{HTTPS: o.GitHTTPSProxy, HTTP: o.GitHTTPProxy, None: o.GitNoProxy},
		},
		Keys: agentkeys.New(
			agentkeys.Config{Secrets: clients.kube.CoreV1().Secrets(o.LeaderElection.ResourceNamespace), Name: o.AgentKeysSecret,
				Period: instruments.AgentKeysPeriod},
		),
		TracerProvider: instruments.TracerProvider,

		TakeoverReadySeconds: instruments.TakeoverReadySeconds,

		MaxConcurrentRollouts: o.MaxConcurrentRollouts,

		Routing:       clients.routing(o, instruments),
		PreviewDomain: o.PreviewDomain,

		OmitAuthors: o.OmitPersonalNames,

		Pods:        pods,
		ProbePeriod: o.CommitObservationPeriod,
	})
	if err != nil {
		return err
	}

	if err := controller.RegisterWebsitesMetric(); err != nil {
		// Reconciliation does not depend on the metric.
		klog.FromContext(ctx).Error(err, "Failed to register a metric")
	}

	leaseHealth := leaderelection.NewLeaderHealthzAdaptor(leaseGrace)
	server, err := serve(o,
		[]healthz.HealthChecker{healthz.PingHealthz, leaseHealth},
		[]healthz.HealthChecker{healthz.PingHealthz, informersSynced(controller.HasSynced)})
	if err != nil {
		return err
	}
	defer server.shutdown()

	// The informers run on a standby as well, so that it can take over immediately, and during a
	// drain, for the workers that still need them.
	informerCtx, stopInformers := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	defer func() {
		stopInformers()
		watching.Wait()
		websiteInformers.Shutdown()
		childInformers.Shutdown()
	}()
	watching.Go(func() {
		if err := waitForAPI(informerCtx, clients.watchWebsites.Discovery()); err == nil {
			websiteInformers.StartWithContext(informerCtx)
		}
	})
	childInformers.StartWithContext(informerCtx)
	watching.Go(func() { unlabelledChildren.Run(informerCtx) })

	run := func(ctx context.Context, drain <-chan struct{}) error {
		return controller.Run(ctx, drain, o.ConcurrentSyncs)
	}
	if !o.LeaderElection.LeaderElect {
		work, cancel := drainable(ctx)
		defer cancel(nil)
		return run(work, ctx.Done())
	}
	return lead(ctx, o, clients, leaseHealth, run)
}

// waitForAPI waits until Websites are served. In a new installation, this process starts before
// website-apiserver, and the back-off of an informer would delay it by up to 30 seconds.
func waitForAPI(ctx context.Context, client discovery.ServerResourcesInterface) error {
	return wait.PollUntilContextCancel(ctx, apiPollInterval, true, func(context.Context) (bool, error) {
		_, err := client.ServerResourcesForGroupVersion(v1beta1.SchemeGroupVersion.String())
		return err == nil, nil
	})
}

// lead runs a function while this process holds the Lease. At the end of ctx the function drains
// first, and only then the Lease is released: two replicas must not reconcile at the same time.
func lead(ctx context.Context, o *options.Options, clients *clients, health *leaderelection.HealthzAdaptor,
	run func(ctx context.Context, drain <-chan struct{}) error) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("finding the host name, for the identity in the lease: %w", err)
	}
	config := o.LeaderElection
	lock, err := resourcelock.NewFromKubeconfig(config.ResourceLock, config.ResourceNamespace, config.ResourceName,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		clients.config, config.RenewDeadline.Duration)
	if err != nil {
		return fmt.Errorf("setting up the leader lease: %w", err)
	}
	elected := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:            options.Name,
		Lock:            lock,
		LeaseDuration:   config.LeaseDuration.Duration,
		RenewDeadline:   config.RenewDeadline.Duration,
		RetryPeriod:     config.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(elected) },
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				klog.FromContext(ctx).Info("New leader elected", "leader", identity, "self", identity == lock.Identity())
			},
		},
	})
	if err != nil {
		return fmt.Errorf("setting up leader election; see the --leader-elect flags: %w", err)
	}
	health.SetLeaderElection(elector)

	var background sync.WaitGroup
	defer background.Wait()

	// The context of the election outlives ctx by the drain.
	electionCtx, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	lost := make(chan struct{})
	background.Go(func() {
		defer close(lost)
		elector.Run(electionCtx)
	})

	select {
	case <-ctx.Done():
		return nil
	case <-elected:
	}

	work, abort := drainable(ctx)
	defer abort(nil)
	background.Go(func() {
		select {
		case <-lost:
			abort(errLeaseLost)
		case <-work.Done():
		}
	})
	return run(work, ctx.Done())
}

// drainable returns a context for the work of a process. It outlives ctx by drainTimeout.
func drainable(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(drainTimeout, func() {
			cancel(fmt.Errorf("work in flight took longer than %v", drainTimeout))
		})
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func(cause error) {
		stop()
		cancel(cause)
	}
}

// resyncPeriod spreads the resyncs of many replicas and installations.
func resyncPeriod(o *options.Options) time.Duration {
	return wait.Jitter(o.MinResyncPeriod.Duration, 1)
}

// flushSpans sends the last spans. The controller does not depend on the collector.
func flushSpans(ctx context.Context, provider tracing.TracerProvider) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := provider.Shutdown(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to send the last spans; see --tracing-config-file")
	}
}

// flush waits for the last events to be written.
func flush(ctx context.Context, recorder *events.Recorder) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	recorder.Shutdown(ctx)
}
