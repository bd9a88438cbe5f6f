package options

import (
	"context"
	"errors"
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/runtime"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver"
	"github.com/kubesites/website-apiserver/pkg/apiserver/bodies"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
	"github.com/kubesites/website-apiserver/pkg/version"
)

// CompletedOptions are Options with every default that depends on another
// option filled in. Only Complete makes them.
type CompletedOptions struct {
	*Options
	embeddedEtcd bool
	// etcd is the embedded etcd, once it is made.
	etcd *embeddedetcd.Supervisor
}

// Complete selects the embedded etcd when no other is given, and fills in
// defaults. It returns an error when the data directory cannot hold the embedded
// etcd's socket.
func (o *Options) Complete() (CompletedOptions, error) {
	completed := CompletedOptions{Options: o}
	etcd := &completed.Recommended.Etcd.StorageConfig.Transport
	if len(etcd.ServerList) == 0 {
		endpoint, err := embeddedetcd.Endpoint(o.DataDir)
		if err != nil {
			return CompletedOptions{}, fmt.Errorf("--data-dir: %w", err)
		}
		etcd.ServerList = []string{endpoint}
		completed.embeddedEtcd = true
	}
	if err := completed.ServerRun.Complete(); err != nil {
		return CompletedOptions{}, fmt.Errorf("completing the server options: %w", err)
	}
	return completed, nil
}

// EmbeddedEtcd reports whether the server runs an etcd of its own in DataDir.
func (o CompletedOptions) EmbeddedEtcd() bool { return o.embeddedEtcd }

// WithEmbeddedEtcd returns options for a server over this etcd. While it does not run, requests fail
// with the reason.
func (o CompletedOptions) WithEmbeddedEtcd(etcd *embeddedetcd.Supervisor) CompletedOptions {
	o.etcd = etcd
	return o
}

// Validate returns all errors in the flags, joined; nil without one.
func (o CompletedOptions) Validate() error {
	return errors.Join(
		append(o.ServerRun.Validate(), append(o.Recommended.Validate(), o.validateEtcd(), o.validateEmbeddedEtcd(),
			o.validateRegistration(), o.validateFieldRules())...)...,
	)
}

// Config returns the server's configuration, for which it changes the options: it can be called once. It waits until
// the host cluster can be reached, on whose version the defaults depend and without which no request can be
// authorized.
func (o CompletedOptions) Config(ctx context.Context) (*apiserver.Config, error) {
	config := genericapiserver.NewRecommendedConfig(o.codecs)

	// Steps that depend on the flags only come first: mistakes are reported before
	// the server waits for the host.
	if !o.generatesServingCertificate() {
		if err := o.ensureServingCertificate(); err != nil {
			return nil, err
		}
	}
	if err := o.applyStorageCodec(); err != nil {
		return nil, err
	}
	// This precedes the recommended options, which start the disabled parts otherwise.
	if err := o.adaptToHost(ctx); err != nil {
		return nil, err
	}
	// This precedes the recommended options, whose authentication adds to the document.
	applyOpenAPI(o.scheme, config)
	// This precedes the recommended options, which read the effective version and
	// the request limits set here.
	if err := o.ServerRun.ApplyTo(&config.Config); err != nil {
		return nil, fmt.Errorf("applying the server options: %w", err)
	}
	// This precedes the recommended options, which apply etcd's options before
	// tracing is set up.
	if err := o.applyTracing(config); err != nil {
		return nil, err
	}
	// This follows tracing, which the client takes part in, and precedes
	// the recommended options, which would make the client with the limits
	// of client-go.
	if err := o.applyCoreAPI(config); err != nil {
		return nil, err
	}
	// This follows the configuration of the client, and precedes the recommended options,
	// which serve with the certificate.
	registrar, err := o.applyRegistration(ctx, config)
	if err != nil {
		return nil, err
	}
	// This precedes the recommended options, whose authentication uses the CAs.
	trusted, err := o.applyTrust()
	if err != nil {
		return nil, err
	}
	// This follows the CAs, which the authenticator uses as well.
	if err := o.applyDelegation(trusted); err != nil {
		return nil, err
	}
	// This follows the server options, which set the feature gates of the component.
	o.Recommended.FeatureGate = config.FeatureGate
	if err := o.Recommended.ApplyTo(config); err != nil {
		return nil, fmt.Errorf("applying the recommended options: %w", err)
	}
	// This follows the recommended options, which add the checks.
	keepStorageOutOfReadiness(config)
	if trusted != nil && !o.Recommended.Authentication.TolerateInClusterLookupFailure {
		config.AddReadyzChecks(trusted.Check())
	}
	// This is last: it wraps the storage that the recommended options have set up.
	guard, snapshots, err := o.applyStore(ctx, config)
	if err != nil {
		return nil, err
	}
	limiter := bodies.NewLimiter()
	config.BuildHandlerChainFunc = handlerChain(guard, trusted, limiter)
	replicas, err := o.applyPeers(config, guard)
	if err != nil {
		return nil, err
	}
	return &apiserver.Config{GenericConfig: config, Scheme: o.scheme, Codecs: o.codecs, Store: guard, Trust: trusted,
		Peers: replicas, Registrar: registrar, Bodies: limiter, Snapshots: snapshots, FieldRules: o.fieldRules()}, nil
}

// ensureServingCertificate makes a self-signed certificate if the flags
// name none.
func (o CompletedOptions) ensureServingCertificate() error {
	if err := o.Recommended.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil,
		[]net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return fmt.Errorf("making a self-signed serving certificate: %w", err)
	}
	return nil
}

// applyOpenAPI configures OpenAPI v2 and v3.
func applyOpenAPI(scheme *runtime.Scheme, config *genericapiserver.RecommendedConfig) {
	namer := openapinamer.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = "Website"
	config.OpenAPIConfig.Info.Version = version.GitVersion()
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = "Website"
	config.OpenAPIV3Config.Info.Version = version.GitVersion()
}

// applyTracing includes requests to etcd in traces.
func (o CompletedOptions) applyTracing(config *genericapiserver.RecommendedConfig) error {
	if err := o.Recommended.EgressSelector.ApplyTo(&config.Config); err != nil {
		return fmt.Errorf("--egress-selector-config-file: %w", err)
	}
	if err := o.Recommended.Traces.ApplyTo(config.EgressSelector, &config.Config); err != nil {
		return fmt.Errorf("--tracing-config-file: %w", err)
	}
	o.Recommended.Etcd.StorageConfig.Transport.TracerProvider = config.TracerProvider
	// The options are applied once: applied twice, they would export twice.
	o.Recommended.EgressSelector, o.Recommended.Traces = nil, nil
	return nil
}

// applyCoreAPI configures the client of the host cluster that admission and priority
// and fairness use. The recommended options keep client-go's limit of 5 requests/s.
// Each Website that counts towards a quota takes one request, and fails after
// waiting for 10 seconds.
func (o CompletedOptions) applyCoreAPI(config *genericapiserver.RecommendedConfig) error {
	if err := o.Recommended.CoreAPI.ApplyTo(config); err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	// Priority and fairness of the host cluster limits the requests.
	config.ClientConfig.QPS = -1
	// The options are applied once: applied twice, they would start from the default again.
	o.Recommended.CoreAPI = nil
	return nil
}

// applyStorageCodec encodes stored objects in the storage version, as
// --storage-media-type says. EtcdOptions leave that to a storage factory, which the
// recommended options do not have.
func (o CompletedOptions) applyStorageCodec() error {
	etcd := o.Recommended.Etcd
	codec, versioner, err := serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType:  etcd.DefaultStorageMediaType,
		StorageSerializer: o.codecs,
		StorageVersion:    v1beta1.SchemeGroupVersion,
		MemoryVersion:     website.SchemeGroupVersion,
		Config:            etcd.StorageConfig,
	})
	if err != nil {
		return fmt.Errorf("--storage-media-type: %w", err)
	}
	etcd.StorageConfig.Codec = codec
	etcd.StorageConfig.EncodeVersioner = versioner
	return nil
}
