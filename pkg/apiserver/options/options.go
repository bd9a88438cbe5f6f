// Package options turns website-apiserver's flags into its configuration.
package options

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver"
	"github.com/kubesites/website-apiserver/pkg/apiserver/bodies"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/manifests"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
	"github.com/kubesites/website-apiserver/pkg/registry/website"
)

const (
	// etcdPrefix is the usual prefix of Kubernetes API servers; group, resource,
	// namespace and name follow.
	etcdPrefix = "/registry"
	// defaultSecurePort can be bound without privileges.
	defaultSecurePort = 8443
	// defaultWatchTermination bounds the end of watches on shutdown. Clients do
	// not end them, so without a limit the server runs until it is killed.
	defaultWatchTermination = 5 * time.Second
	// defaultDataDir is the default directory of the embedded etcd's data.
	defaultDataDir = "/var/lib/website-apiserver"
)

// Options holds the values of website-apiserver's flags.
type Options struct {
	// ServerRun holds the generic flags of API servers: request limits,
	// graceful shutdown, feature gates.
	ServerRun *genericoptions.ServerRunOptions
	// Recommended holds serving, delegated authentication and authorization,
	// audit, admission, etcd and tracing.
	Recommended *genericoptions.RecommendedOptions
	// DataDir is the directory of the embedded etcd, which runs if
	// --etcd-servers is empty. Defaults to /var/lib/website-apiserver.
	DataDir string
	// EmbeddedEtcdQuotaBytes is the maximum size of the embedded etcd's database.
	// Defaults to 2 GiB.
	EmbeddedEtcdQuotaBytes int64
	// EmbeddedEtcdHistoryBytes is the maximum size of superseded revisions in the
	// embedded etcd. Defaults to 64 MiB.
	EmbeddedEtcdHistoryBytes int64
	// SnapshotInterval is the interval of snapshots of the embedded etcd; 0 for none.
	// Defaults to 6 hours.
	SnapshotInterval time.Duration
	// SnapshotCount is the number of snapshots that are kept. Defaults to 4.
	SnapshotCount int
	// SnapshotDirectory holds the snapshots. Defaults to snapshots in DataDir.
	SnapshotDirectory string
	// StoreRecordNamespace is the namespace of the host cluster with the ConfigMap
	// that names the store. Defaults to website-system.
	StoreRecordNamespace string
	// Service is the Service by which the host cluster reaches the server, as
	// NAMESPACE/NAME:PORT. Empty: the server does not register itself.
	Service string
	// CreateAPIServices makes the server create missing APIServices.
	CreateAPIServices bool
	// ServiceCAFile is a file with the CAs that have signed the certificate of
	// --tls-cert-file.
	ServiceCAFile string
	// ServingCertificateDuration is the lifetime of generated serving certificates.
	// Defaults to 90 days.
	ServingCertificateDuration time.Duration
	// HostAuthorization is the treatment of a host that its user may not use: Off, Warn
	// or Enforce. Defaults to Warn.
	HostAuthorization string
	// AllowedServiceAnnotations are the keys, or prefixes that end with "*", of the
	// annotations that Services of Websites may have.
	AllowedServiceAnnotations []string
	// OmitPersonalNames leaves the names of requesting users out of statuses.
	OmitPersonalNames bool
	// Logs holds the format and verbosity of the log.
	Logs *logsapi.LoggingConfiguration

	scheme *runtime.Scheme
	codecs serializer.CodecFactory
}

// NewOptions returns the defaults. It returns an error when the API types
// cannot be registered.
func NewOptions() (*Options, error) {
	scheme, codecs, err := apiserver.NewScheme()
	if err != nil {
		return nil, err
	}

	if err := setFeatureDefaults(); err != nil {
		return nil, err
	}

	// A registry of its own, instead of the process's default, permits two servers
	// in one process. The only component is Kubernetes' libraries: feature gates
	// and the capabilities of CEL follow their version, never the product's.
	components := basecompatibility.NewComponentGlobalsRegistry()
	if err := components.Register(basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(),
		utilfeature.DefaultMutableFeatureGate); err != nil {
		return nil, fmt.Errorf("registering the Kubernetes component: %w", err)
	}

	// The codec of the storage follows from --storage-media-type; see Config.
	recommended := genericoptions.NewRecommendedOptions(etcdPrefix, nil)
	addResourceQuota(recommended)
	addOwnerReferences(recommended)
	fromFiles, err := manifests.NewInitializer()
	if err != nil {
		return nil, err
	}
	// These run after the generic ones and override them.
	recommended.ExtraAdmissionInitializers = func(config *genericapiserver.RecommendedConfig) (
		[]admission.PluginInitializer, error,
	) {
		return []admission.PluginInitializer{newQuotaInitializer(),
			policyInitializer{config.SharedInformerFactory}, fromFiles}, nil
	}
	recommended.Etcd.DefaultStorageMediaType = runtime.ContentTypeProtobuf
	recommended.SecureServing.BindPort = defaultSecurePort
	// Without a directory, a self-signed certificate stays in memory.
	recommended.SecureServing.ServerCert.CertDirectory = ""

	serverRun := genericoptions.NewServerRunOptionsForComponent(basecompatibility.DefaultKubeComponent, components)
	serverRun.ShutdownWatchTerminationGracePeriod = defaultWatchTermination
	serverRun.MaxRequestBodyBytes, serverRun.JSONPatchMaxCopyBytes = bodies.MaxBytes, bodies.MaxCopyBytes

	return &Options{
		ServerRun:   serverRun,
		Recommended: recommended,
		DataDir:     defaultDataDir,
		Logs:        logsapi.NewLoggingConfiguration(),
		scheme:      scheme,
		codecs:      codecs,

		EmbeddedEtcdQuotaBytes:   embeddedetcd.DefaultQuotaBytes,
		EmbeddedEtcdHistoryBytes: embeddedetcd.DefaultHistoryBytes,

		SnapshotInterval: defaultSnapshotInterval,
		SnapshotCount:    defaultSnapshotCount,

		StoreRecordNamespace: store.DefaultRecordNamespace,

		CreateAPIServices:          true,
		ServingCertificateDuration: defaultServingCertificateDuration,

		HostAuthorization: string(website.HostAuthorizationWarn),
	}, nil
}

// Flags returns the flags, in the sections in which --help shows them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	o.ServerRun.AddUniversalFlags(sets.FlagSet("generic"))
	o.addEtcdFlags(sets.FlagSet("etcd"))
	o.addEmbeddedEtcdFlags(sets.FlagSet("etcd"))
	o.Recommended.SecureServing.AddFlags(sets.FlagSet("secure serving"))
	o.addRegistrationFlags(sets.FlagSet("registration"))
	o.Recommended.Authentication.AddFlags(sets.FlagSet("authentication"))
	o.Recommended.Authorization.AddFlags(sets.FlagSet("authorization"))
	o.addFieldFlags(sets.FlagSet("websites"))
	o.Recommended.Audit.AddFlags(sets.FlagSet("auditing"))
	o.Recommended.Features.AddFlags(sets.FlagSet("features"))
	o.Recommended.CoreAPI.AddFlags(sets.FlagSet("core API"))
	o.Recommended.Admission.AddFlags(sets.FlagSet("admission"))
	o.Recommended.EgressSelector.AddFlags(sets.FlagSet("egress selector"))
	o.Recommended.Traces.AddFlags(sets.FlagSet("traces"))
	logsapi.AddFlags(o.Logs, sets.FlagSet("logs"))
	return sets
}

// StoreFlags returns the flags of the commands that read the store of a running
// server: the server's flags for the store and the host cluster.
func (o *Options) StoreFlags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	o.addEtcdFlags(sets.FlagSet("etcd"))
	o.Recommended.CoreAPI.AddFlags(sets.FlagSet("core API"))
	logsapi.AddFlags(o.Logs, sets.FlagSet("logs"))
	return sets
}

func (o *Options) addEtcdFlags(flags *pflag.FlagSet) {
	o.Recommended.Etcd.AddFlags(flags)
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir,
		"The directory for the data of the embedded etcd, which runs if --etcd-servers is empty. It listens on a unix "+
			"socket in this directory only and serves a single website-apiserver.")
	flags.StringVar(&o.StoreRecordNamespace, "store-record-namespace", o.StoreRecordNamespace,
		"The namespace of the ConfigMap website-store, which records the identity of the store in the host cluster. Any "+
			"other store is not served. All servers of a store must use the same namespace.")
}

func (o CompletedOptions) validateEtcd() error {
	if len(o.Recommended.Etcd.EtcdServersOverrides) > 0 {
		return errors.New("--etcd-servers-overrides: all resources of this server are in one store, use --etcd-servers")
	}
	return nil
}
