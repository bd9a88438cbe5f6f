// Package options holds the flags of website-controller.
package options

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseconfig "k8s.io/component-base/config"
	leaderelectionoptions "k8s.io/component-base/config/options"
	configvalidation "k8s.io/component-base/config/validation"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
)

const (
	// Name is the name of the command, of its lease and of its user agent.
	Name = "website-controller"
	// DefaultNamespace is where the lease is, and the rest of an installation.
	DefaultNamespace = "website-system"

	// DefaultNginxImage serves the files.
	DefaultNginxImage = "docker.io/nginxinc/nginx-unprivileged:1.30.5-alpine"
	// DefaultGitSyncImage fetches the repositories.
	DefaultGitSyncImage = "registry.k8s.io/git-sync/git-sync:v4.7.1"

	// DefaultSecurePort is where metrics and health are served. It is none of
	// the ports of Kubernetes' own components (10248 to 10260), so that the
	// controller can share a host network with them.
	DefaultSecurePort = 10443

	defaultWorkers = 5
	maxWorkers     = 1000

	// defaultMinResyncPeriod is that of kube-controller-manager. What changes is
	// seen at once; this is for what no watch tells.
	defaultMinResyncPeriod = 12 * time.Hour
	// lowestMinResyncPeriod keeps a mistyped unit from making a busy loop.
	lowestMinResyncPeriod    = time.Minute
	defaultObservationPeriod = 30 * time.Second
	minObservationPeriod     = time.Second

	// unlimited leaves the pace to the server's priority and fairness.
	unlimited = -1
)

// Options are the flags of website-controller and what comes of them.
type Options struct {
	// Kubeconfig is the file to reach the API server with. Empty means that of
	// the pod the controller runs in.
	Kubeconfig string
	// KubeAPIQPS and KubeAPIBurst limit the requests of each client. A negative
	// rate is no limit.
	KubeAPIQPS   float32
	KubeAPIBurst int
	// ConcurrentSyncs is how many Websites are worked on at once.
	ConcurrentSyncs int
	// WatchNamespace is the one whose Websites are looked after. Empty means all.
	WatchNamespace string
	// MinResyncPeriod is how often every Website is looked at although nothing
	// changed: after this time at the earliest, twice of it at the latest. Zero
	// means never.
	MinResyncPeriod metav1.Duration
	// NginxImage and GitSyncImage are what the pods run.
	NginxImage, GitSyncImage string
	// CommitObservation is how the pods are asked which commit they serve.
	CommitObservation string
	// CommitObservationPeriod is how often a pod is asked with which all is well.
	CommitObservationPeriod time.Duration
	// Profiling adds /debug/pprof to the secure port.
	Profiling bool

	LeaderElection componentbaseconfig.LeaderElectionConfiguration
	SecureServing  *apiserveroptions.SecureServingOptions
	Authentication *apiserveroptions.DelegatingAuthenticationOptions
	Authorization  *apiserveroptions.DelegatingAuthorizationOptions
	Tracing        *apiserveroptions.TracingOptions
	Logs           *logsapi.LoggingConfiguration
	FeatureGate    featuregate.MutableVersionedFeatureGate
}

// NewOptions returns the defaults.
func NewOptions() (*Options, error) {
	o := &Options{
		KubeAPIQPS:      unlimited,
		KubeAPIBurst:    100,
		ConcurrentSyncs: defaultWorkers,
		MinResyncPeriod: metav1.Duration{Duration: defaultMinResyncPeriod},
		NginxImage:      DefaultNginxImage,
		GitSyncImage:    DefaultGitSyncImage,

		CommitObservation:       string(podprobe.Direct),
		CommitObservationPeriod: defaultObservationPeriod,

		LeaderElection: componentbaseconfig.LeaderElectionConfiguration{
			LeaderElect:   true,
			LeaseDuration: metav1.Duration{Duration: 15 * time.Second},
			RenewDeadline: metav1.Duration{Duration: 10 * time.Second},
			// A standby tries after up to 2.2 times this long: once to see the last renewal,
			// and once more when the lease has expired. With Kubernetes' usual 2 seconds it
			// would lead as late as 24 seconds after the leader's end.
			RetryPeriod:       metav1.Duration{Duration: time.Second},
			ResourceLock:      resourcelock.LeasesResourceLock,
			ResourceName:      Name,
			ResourceNamespace: DefaultNamespace,
		},
		SecureServing:  apiserveroptions.NewSecureServingOptions(),
		Authentication: apiserveroptions.NewDelegatingAuthenticationOptions(),
		// Its defaults leave the health endpoints open, which the kubelet needs;
		// everything else, /metrics above all, takes authorization.
		Authorization: apiserveroptions.NewDelegatingAuthorizationOptions(),
		Tracing:       apiserveroptions.NewTracingOptions(),
		Logs:          logsapi.NewLoggingConfiguration(),
		FeatureGate:   featuregate.NewFeatureGate(),
	}
	// No folder: without --tls-cert-file the certificate stays in memory.
	o.SecureServing.ServerCert.CertDirectory = ""
	o.SecureServing.ServerCert.PairName = Name
	o.SecureServing.BindPort = DefaultSecurePort
	if err := logsapi.AddFeatureGates(o.FeatureGate); err != nil {
		return nil, fmt.Errorf("registering the feature gates of logging: %w", err)
	}
	return o, nil
}

// Flags returns the flags in the sections that --help shows.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets

	fs := sets.FlagSet("controller")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"kubeconfig file of the cluster. Empty: the service account of the pod that the controller runs in.")
	fs.IntVar(&o.ConcurrentSyncs, "concurrent-website-syncs", o.ConcurrentSyncs,
		"Number of Websites that are worked on at once.")
	fs.StringVar(&o.WatchNamespace, "watch-namespace", o.WatchNamespace,
		"Namespace whose Websites are looked after; those of others are not even read, and no rights there are needed. Empty: all namespaces.")
	fs.DurationVar(&o.MinResyncPeriod.Duration, "min-resync-period", o.MinResyncPeriod.Duration,
		"Every Website is looked at again after a random time between this and twice of it, although nothing changed. 0: never.")
	fs.Float32Var(&o.KubeAPIQPS, "kube-api-qps", o.KubeAPIQPS,
		"Requests per second of each client. A negative number sets no limit and relies on the API server's priority and fairness.")
	fs.IntVar(&o.KubeAPIBurst, "kube-api-burst", o.KubeAPIBurst,
		"Requests of each client that may exceed --kube-api-qps for a moment. Of no effect without a limit.")
	fs.StringVar(&o.NginxImage, "nginx-image", o.NginxImage,
		"Image that serves the sites: an nginx that runs as user 101. Another image rolls all pods.")
	fs.StringVar(&o.GitSyncImage, "git-sync-image", o.GitSyncImage,
		"Image that fetches the repositories: git-sync v4.7 or compatible. Another image rolls all pods.")
	fs.StringVar(&o.CommitObservation, "commit-observation", o.CommitObservation,
		"How the pods of Websites are asked which commit they serve. Direct: at their addresses, ports 8081 and 8082. PodProxy: through the API server, which takes the right to get pods/proxy. None: not at all; the condition Synced is then Unknown.")
	fs.DurationVar(&o.CommitObservationPeriod, "commit-observation-period", o.CommitObservationPeriod,
		"How often each pod is asked with which all is well. One that has changed, or with which something is wrong, is asked sooner.")
	fs.BoolVar(&o.Profiling, "profiling", o.Profiling,
		"Serve profiles at /debug/pprof/ of the secure port, to whoever is authorized.")

	leaderelectionoptions.BindLeaderElectionFlags(&o.LeaderElection, sets.FlagSet("leader election"))
	o.SecureServing.AddFlags(sets.FlagSet("secure serving"))
	o.Authentication.AddFlags(sets.FlagSet("authentication"))
	o.Authorization.AddFlags(sets.FlagSet("authorization"))
	o.addTracingFlags(sets.FlagSet("tracing"))
	logsapi.AddFlags(o.Logs, sets.FlagSet("logs"))

	o.FeatureGate.AddFlag(sets.FlagSet("feature gates"))
	return sets
}

// Complete fills in what follows from other flags.
func (o *Options) Complete() {
	// One kubeconfig is enough for a controller outside the cluster.
	if o.Authentication.RemoteKubeConfigFile == "" {
		o.Authentication.RemoteKubeConfigFile = o.Kubeconfig
	}
	if o.Authorization.RemoteKubeConfigFile == "" {
		o.Authorization.RemoteKubeConfigFile = o.Kubeconfig
	}
}

// Validate returns every mistake in the flags at once.
func (o *Options) Validate() error {
	var errs []error
	if o.ConcurrentSyncs < 1 || o.ConcurrentSyncs > maxWorkers {
		errs = append(errs, fmt.Errorf("--concurrent-website-syncs is %d: it must be between 1 and %d", o.ConcurrentSyncs, maxWorkers))
	}
	if o.KubeAPIQPS == 0 {
		errs = append(errs, errors.New("--kube-api-qps is 0: give a rate, or a negative number for no limit"))
	}
	if o.KubeAPIQPS > 0 && o.KubeAPIBurst < 1 {
		errs = append(errs, fmt.Errorf("--kube-api-burst is %d: it must be at least 1 when --kube-api-qps sets a limit", o.KubeAPIBurst))
	}
	if o.MinResyncPeriod.Duration != 0 && o.MinResyncPeriod.Duration < lowestMinResyncPeriod {
		errs = append(errs, fmt.Errorf("--min-resync-period is %v: it must be at least %v, or 0 for never", o.MinResyncPeriod.Duration, lowestMinResyncPeriod))
	}
	if o.WatchNamespace != metav1.NamespaceAll {
		for _, problem := range validation.ValidateNamespaceName(o.WatchNamespace, false) {
			errs = append(errs, fmt.Errorf("--watch-namespace %q is no name of a namespace: %s", o.WatchNamespace, problem))
		}
	}
	errs = append(errs, validateImage("--nginx-image", o.NginxImage), validateImage("--git-sync-image", o.GitSyncImage))
	switch podprobe.Mode(o.CommitObservation) {
	case podprobe.Direct, podprobe.PodProxy, podprobe.None:
	default:
		errs = append(errs, fmt.Errorf("--commit-observation is %q: it must be %s, %s or %s", o.CommitObservation, podprobe.Direct, podprobe.PodProxy, podprobe.None))
	}
	if o.CommitObservationPeriod < minObservationPeriod {
		errs = append(errs, fmt.Errorf("--commit-observation-period is %v: it must be at least %v", o.CommitObservationPeriod, minObservationPeriod))
	}
	if o.LeaderElection.LeaderElect {
		errs = append(errs, configvalidation.ValidateLeaderElectionConfiguration(&o.LeaderElection, field.NewPath("leader-elect")).ToAggregate())
		if o.LeaderElection.ResourceLock != resourcelock.LeasesResourceLock {
			errs = append(errs, fmt.Errorf("--leader-elect-resource-lock is %q: only %q is supported", o.LeaderElection.ResourceLock, resourcelock.LeasesResourceLock))
		}
	}
	errs = append(errs, o.SecureServing.Validate()...)
	errs = append(errs, o.Authentication.Validate()...)
	errs = append(errs, o.Authorization.Validate()...)
	errs = append(errs, o.validateTracing()...)
	return utilerrors.NewAggregate(errs)
}

// DefaultCertificate makes a self-signed certificate in memory, unless the
// flags name one.
func (o *Options) DefaultCertificate() error {
	if err := o.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}); err != nil {
		return fmt.Errorf("making a self-signed certificate; --tls-cert-file and --tls-private-key-file take one of yours: %w", err)
	}
	return nil
}

// validateImage asks for a tag or digest: the image must not change under the
// pods while the pod template stays the same.
func validateImage(flag, image string) error {
	name := image[strings.LastIndex(image, "/")+1:]
	switch {
	case name == "":
		return fmt.Errorf("%s %q names no image", flag, image)
	case strings.ContainsAny(image, " \t\n"):
		return fmt.Errorf("%s %q contains white space", flag, image)
	case !strings.ContainsAny(name, ":@"):
		return fmt.Errorf("%s %q has neither tag nor digest: add the exact one to run", flag, image)
	case strings.HasSuffix(name, ":latest"):
		return fmt.Errorf("%s %q moves with every release: give an exact tag or a digest", flag, image)
	default:
		return nil
	}
}
