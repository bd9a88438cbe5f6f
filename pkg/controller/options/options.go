// Package options holds the flags of website-controller.
package options

import (
	"cmp"
	"fmt"
	"net"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseconfig "k8s.io/component-base/config"
	leaderelectionoptions "k8s.io/component-base/config/options"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/images"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

const (
	// Name is the name of the command, of its lease and of its user agent.
	Name = "website-controller"
	// DefaultNamespace is the namespace of the installation and of its Lease.
	DefaultNamespace = "website-system"

	// DefaultSecurePort is the port for metrics and health. It differs from the ports of Kubernetes'
	// own components (10248 to 10260), so that the controller can share a host network with them.
	DefaultSecurePort = 10443

	defaultAgentKeysSecret = "website-controller-keys"

	defaultWorkers  = 5
	defaultRollouts = 10

	// defaultMinResyncPeriod is the default of kube-controller-manager. Watches report changes
	// immediately; a resync is for changes that no watch reports.
	defaultMinResyncPeriod   = 12 * time.Hour
	defaultObservationPeriod = 30 * time.Second

	// unlimited leaves the pace to the server's priority and fairness.
	unlimited = -1
)

// Options are the flags of website-controller.
type Options struct {
	// Kubeconfig is the path of the kubeconfig file. Empty means the in-cluster configuration.
	Kubeconfig string
	// KubeAPIQPS and KubeAPIBurst limit the requests of each client. A negative rate is no limit.
	KubeAPIQPS   float32
	KubeAPIBurst int
	// ConcurrentSyncs is the number of Websites that are reconciled concurrently.
	ConcurrentSyncs int
	// WatchNamespace is the namespace whose Websites are reconciled. Empty means all.
	WatchNamespace string
	// MinResyncPeriod is the minimum resync period; the maximum is twice as long. Zero disables
	// resyncs.
	MinResyncPeriod metav1.Duration
	// MaxConcurrentRollouts limits the Deployments that replace their pods at the same time for
	// another reason than a change of their Website. Zero is no limit.
	MaxConcurrentRollouts int
	// NginxImage, GitSyncImage and AgentImage are the container images of the pods.
	NginxImage, GitSyncImage, AgentImage string
	// ImagePullSecrets are the names of the pull Secrets, which are read in the namespace of each
	// Website.
	ImagePullSecrets []string
	// PlatformUserIDs leaves the user and group IDs of the containers to the platform.
	PlatformUserIDs bool
	// AccessLogFormat is the format of the access log of nginx: text or json.
	AccessLogFormat string
	// TrustedProxies are the networks, or addresses, of proxies whose X-Forwarded-For header names
	// the client.
	TrustedProxies []string
	// GitHTTPSProxy, GitHTTPProxy and GitNoProxy configure the proxy of git in the pods.
	GitHTTPSProxy, GitHTTPProxy, GitNoProxy string
	// DefaultGateway is the Gateway for Websites that name neither a Gateway nor an Ingress class, as
	// NAMESPACE/NAME.
	DefaultGateway string
	// DefaultIngressClass is the class of the Ingresses of Websites that name neither a Gateway nor a
	// class.
	DefaultIngressClass string
	// PreviewDomain is the domain of the previews of Websites that name none.
	PreviewDomain string
	// OmitPersonalNames leaves the authors of commits out of statuses and events.
	OmitPersonalNames bool
	// AgentKeysSecret is the Secret with the keys that sign requests to the pods, in the
	// namespace of the lease.
	AgentKeysSecret string
	// CommitObservation is the mode in which pods are probed.
	CommitObservation string
	// CommitObservationPeriod is the probing interval of healthy pods.
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
		NginxImage:      images.Nginx,
		GitSyncImage:    images.GitSync,
		AgentImage:      images.Agent,
		AccessLogFormat: string(resources.AccessLogText),

		MaxConcurrentRollouts: defaultRollouts,
		AgentKeysSecret:       defaultAgentKeysSecret,

		CommitObservation:       string(podprobe.Direct),
		CommitObservationPeriod: defaultObservationPeriod,

		LeaderElection: componentbaseconfig.LeaderElectionConfiguration{
			LeaderElect:   true,
			LeaseDuration: metav1.Duration{Duration: 15 * time.Second},
			RenewDeadline: metav1.Duration{Duration: 10 * time.Second},
			// A standby tries again after up to 2.2 times this long: once to see the last renewal,
			// and once more when the Lease has expired. With Kubernetes' usual 2 seconds it would
			// lead as late as 24 seconds after the leader's end.
			RetryPeriod:       metav1.Duration{Duration: time.Second},
			ResourceLock:      resourcelock.LeasesResourceLock,
			ResourceName:      Name,
			ResourceNamespace: DefaultNamespace,
		},
		SecureServing:  apiserveroptions.NewSecureServingOptions(),
		Authentication: apiserveroptions.NewDelegatingAuthenticationOptions(),
		// The defaults leave the health endpoints open, which the kubelet needs; everything else,
		// such as /metrics, requires authorization.
		Authorization: apiserveroptions.NewDelegatingAuthorizationOptions(),
		Tracing:       apiserveroptions.NewTracingOptions(),
		Logs:          logsapi.NewLoggingConfiguration(),
		FeatureGate:   featuregate.NewFeatureGate(),
	}
	// No directory: without --tls-cert-file the certificate stays in memory.
	o.SecureServing.ServerCert.CertDirectory = ""
	o.SecureServing.ServerCert.PairName = Name
	o.SecureServing.BindPort = DefaultSecurePort
	if err := logsapi.AddFeatureGates(o.FeatureGate); err != nil {
		return nil, fmt.Errorf("registering the feature gates of logging: %w", err)
	}
	return o, nil
}

// Complete fills in the defaults that depend on other options, and returns the options.
func (o *Options) Complete() *Options {
	// A controller outside the cluster needs only one kubeconfig.
	for _, file := range []*string{&o.Authentication.RemoteKubeConfigFile, &o.Authorization.RemoteKubeConfigFile} {
		*file = cmp.Or(*file, o.Kubeconfig)
	}
	return o
}

// DefaultCertificate generates a self-signed certificate in memory, unless the flags name one.
func (o *Options) DefaultCertificate() error {
	if err := o.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil,
		[]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}); err != nil {
		return fmt.Errorf("generating a self-signed certificate; use --tls-cert-file and --tls-private-key-file instead: %w",
			err)
	}
	return nil
}

// Flags returns the flags in the sections that --help shows.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets

	fs := sets.FlagSet("controller")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"Path to the kubeconfig file of the cluster. If empty, the in-cluster configuration is used.")
	fs.IntVar(&o.ConcurrentSyncs, "concurrent-website-syncs", o.ConcurrentSyncs,
		"The number of Websites that are allowed to sync concurrently. Larger number = more responsive Websites, but more "+
			"CPU (and network) load.")
	fs.StringVar(&o.WatchNamespace, "watch-namespace", o.WatchNamespace,
		"The namespace whose Websites are reconciled. Nothing is read in other namespaces, and no permissions are needed "+
			"there. If empty, all namespaces are watched.")
	fs.DurationVar(&o.MinResyncPeriod.Duration, "min-resync-period", o.MinResyncPeriod.Duration,
		"The resync period of the Website informer is random between MinResyncPeriod and 2*MinResyncPeriod. If 0, there is "+
			"no resync.")
	fs.Float32Var(&o.KubeAPIQPS, "kube-api-qps", o.KubeAPIQPS,
		"QPS to use while talking with the API server, per client. If negative, there is no client-side limit, and API "+
			"Priority and Fairness of the server decides.")
	fs.IntVar(&o.KubeAPIBurst, "kube-api-burst", o.KubeAPIBurst,
		"Burst to use while talking with the API server, per client. Ignored if --kube-api-qps is negative.")
	fs.IntVar(&o.MaxConcurrentRollouts, "max-concurrent-rollouts", o.MaxConcurrentRollouts,
		"The number of Deployments that are allowed to replace their pods concurrently because the version or a flag of "+
			"the controller has changed, oldest Websites first. Changes of Websites are rolled out at once. If 0, there is "+
			"no limit.")
	fs.StringVar(&o.NginxImage, "nginx-image", o.NginxImage,
		"The image of the container nginx, which must run as user 101. A change rolls out all Deployments; see "+
			"--max-concurrent-rollouts.")
	fs.StringVar(&o.GitSyncImage, "git-sync-image", o.GitSyncImage,
		"The image of the container git-sync, in which the agent runs: git 2.39 or later, ssh and CA certificates. A "+
			"change rolls out all Deployments; see --max-concurrent-rollouts.")
	fs.StringVar(&o.AgentImage, "agent-image", o.AgentImage,
		"The image of website-agent, of the same version as website-controller. A change rolls out all Deployments; see "+
			"--max-concurrent-rollouts.")
	fs.StringSliceVar(&o.ImagePullSecrets, "image-pull-secrets", o.ImagePullSecrets,
		"The names of the Secrets with which the images of pods are pulled, separated by commas. Each namespace with "+
			"Websites must have them. A change rolls out all Deployments; see --max-concurrent-rollouts.")
	fs.BoolVar(&o.PlatformUserIDs, "platform-assigns-user-ids", o.PlatformUserIDs,
		"Leave user and group IDs out of the pods, for platforms that assign them, such as OpenShift with restricted-v2. A "+
			"change rolls out all Deployments; see --max-concurrent-rollouts.")
	fs.StringVar(&o.AccessLogFormat, "access-log-format", o.AccessLogFormat,
		"The format of the access log of the container nginx: text or json. A change rolls out all Deployments; see "+
			"--max-concurrent-rollouts.")
	fs.StringSliceVar(&o.TrustedProxies, "trusted-proxies", o.TrustedProxies,
		"The IP addresses and CIDR ranges of the proxies, such as the Gateway, whose X-Forwarded-For header gives "+
			"the access log the address of the client. A change rolls out all Deployments; see --max-concurrent-rollouts.")
	fs.StringVar(&o.GitHTTPSProxy, "git-https-proxy", o.GitHTTPSProxy,
		"The URL of the HTTP proxy through which pods reach https:// repositories. ssh does not use it. If empty, there is "+
			"none. A change rolls out all Deployments; see --max-concurrent-rollouts.")
	fs.StringVar(&o.GitHTTPProxy, "git-http-proxy", o.GitHTTPProxy,
		"The URL of the HTTP proxy through which pods reach http:// repositories. If empty, there is none. A change rolls "+
			"out all Deployments; see --max-concurrent-rollouts.")
	fs.StringVar(&o.GitNoProxy, "git-no-proxy", o.GitNoProxy,
		"The hosts, domains and networks that pods reach without a proxy, separated by commas. A change rolls out all "+
			"Deployments; see --max-concurrent-rollouts.")
	fs.StringVar(&o.DefaultGateway, "default-gateway", o.DefaultGateway,
		"The Gateway (gateway.networking.k8s.io/v1), as NAMESPACE/NAME, that routes the hosts of Websites without "+
			"spec.routing. If empty, or if the cluster does not serve Gateway API, an Ingress routes them.")
	fs.StringVar(&o.DefaultIngressClass, "default-ingress-class", o.DefaultIngressClass,
		"The IngressClass of the Ingresses of Websites without spec.routing. If empty, the default IngressClass of the "+
			"cluster is used.")
	fs.StringVar(&o.PreviewDomain, "preview-domain", o.PreviewDomain,
		"The DNS domain of the previews of Websites without spec.previews.domain: their hosts are BRANCH.WEBSITE.DOMAIN. "+
			"Websites of the same name in several namespaces share these hosts; the oldest has them. If empty, these previews "+
			"have no hosts.")
	fs.BoolVar(&o.OmitPersonalNames, "omit-personal-names", o.OmitPersonalNames,
		"Leave the authors of commits out of status.history and events.")
	fs.StringVar(&o.AgentKeysSecret, "agent-keys-secret", o.AgentKeysSecret,
		"The name of the Secret with the keys that sign requests to the pods, in the namespace of "+
			"--leader-elect-resource-namespace. It is created if it does not exist.")
	fs.StringVar(&o.CommitObservation, "commit-observation", o.CommitObservation,
		"How pods are probed for the commit that they serve. Direct: at the pod IP, port 8081. PodProxy: through the API "+
			"server, which requires get on pods/proxy. None: pods are not probed, and the condition Synced is Unknown.")
	fs.DurationVar(&o.CommitObservationPeriod, "commit-observation-period", o.CommitObservationPeriod,
		"The polling interval for healthy pods. Changed and failing pods are probed more often.")
	fs.BoolVar(&o.Profiling, "profiling", o.Profiling,
		"Enable profiling via the web interface host:port/debug/pprof/ of the secure port, for authorized clients.")

	leaderelectionoptions.BindLeaderElectionFlags(&o.LeaderElection, sets.FlagSet("leader election"))
	o.SecureServing.AddFlags(sets.FlagSet("secure serving"))
	o.Authentication.AddFlags(sets.FlagSet("authentication"))
	o.Authorization.AddFlags(sets.FlagSet("authorization"))
	o.Tracing.AddFlags(sets.FlagSet("tracing"))
	logsapi.AddFlags(o.Logs, sets.FlagSet("logs"))

	o.FeatureGate.AddFlag(sets.FlagSet("feature gates"))
	return sets
}
