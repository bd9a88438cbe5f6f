package options

import (
	"context"
	"errors"
	"fmt"
	"net"

	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
	"github.com/kubesites/website-apiserver/pkg/version"
)

// CompletedOptions are Options with every default that depends on another
// option filled in. Only Complete makes them.
type CompletedOptions struct {
	*completedOptions
}

type completedOptions struct {
	*Options
	embeddedEtcd bool
}

// Complete chooses the embedded etcd when no other is given, and fills in
// defaults. It returns an error when the data folder cannot hold the embedded
// etcd's socket.
func (o *Options) Complete() (CompletedOptions, error) {
	completed := &completedOptions{Options: o}
	etcd := &o.Recommended.Etcd.StorageConfig.Transport
	if len(etcd.ServerList) == 0 {
		endpoint, err := embeddedetcd.Endpoint(o.DataDir)
		if err != nil {
			return CompletedOptions{}, fmt.Errorf("--data-dir: %w", err)
		}
		etcd.ServerList = []string{endpoint}
		completed.embeddedEtcd = true
	}
	if err := o.ServerRun.Complete(); err != nil {
		return CompletedOptions{}, fmt.Errorf("completing the server options: %w", err)
	}
	return CompletedOptions{completed}, nil
}

// EmbeddedEtcd tells whether the server has to run an etcd of its own in DataDir.
func (o CompletedOptions) EmbeddedEtcd() bool { return o.embeddedEtcd }

// Validate returns every mistake in the flags, joined; nil if there is none.
func (o CompletedOptions) Validate() error {
	return errors.Join(append(o.ServerRun.Validate(), o.Recommended.Validate()...)...)
}

// Config returns the server's configuration. It waits until the host cluster can be
// reached, on whose version the defaults depend and without which no request can be
// authorized.
func (o CompletedOptions) Config(ctx context.Context) (*apiserver.Config, error) {
	if err := o.Recommended.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, fmt.Errorf("making a self-signed serving certificate: %w", err)
	}

	if err := o.applyStorageCodec(); err != nil {
		return nil, err
	}
	if err := o.adaptToHost(ctx); err != nil {
		return nil, err
	}

	config := genericapiserver.NewRecommendedConfig(o.codecs)
	namer := openapinamer.NewDefinitionNamer(o.scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = "Website"
	config.OpenAPIConfig.Info.Version = version.GitVersion()
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = "Website"
	config.OpenAPIV3Config.Info.Version = version.GitVersion()

	// Before the recommended options, which read the effective version and the
	// request limits set here.
	if err := o.ServerRun.ApplyTo(&config.Config); err != nil {
		return nil, fmt.Errorf("applying the server options: %w", err)
	}
	if err := o.applyTracing(config); err != nil {
		return nil, err
	}
	if err := o.applyCoreAPI(config); err != nil {
		return nil, err
	}
	clientsKnown, err := o.applyClientCA()
	if err != nil {
		return nil, err
	}
	o.Recommended.FeatureGate = config.FeatureGate
	if err := o.Recommended.ApplyTo(config); err != nil {
		return nil, fmt.Errorf("applying the recommended options: %w", err)
	}
	if proxy := config.Authentication.RequestHeaderConfig; proxy != nil {
		config.AddReadyzChecks(newProxyTrustCheck(proxy.CAContentProvider, proxy.UsernameHeaders.Value))
	}
	if clientsKnown != nil {
		config.AddReadyzChecks(clientsKnown)
	}
	guard, err := o.applyStore(ctx, config)
	if err != nil {
		return nil, err
	}
	return &apiserver.Config{GenericConfig: config, Scheme: o.scheme, Codecs: o.codecs, Store: guard}, nil
}

// applyTracing makes requests to etcd part of traces. The recommended options
// apply those of etcd before there is anything to trace with.
func (o CompletedOptions) applyTracing(config *genericapiserver.RecommendedConfig) error {
	if err := o.Recommended.EgressSelector.ApplyTo(&config.Config); err != nil {
		return fmt.Errorf("--egress-selector-config-file: %w", err)
	}
	if err := o.Recommended.Traces.ApplyTo(config.EgressSelector, &config.Config); err != nil {
		return fmt.Errorf("--tracing-config-file: %w", err)
	}
	o.Recommended.Etcd.StorageConfig.Transport.TracerProvider = config.TracerProvider
	// Applied once is enough: twice would export twice.
	o.Recommended.EgressSelector, o.Recommended.Traces = nil, nil
	return nil
}

// applyCoreAPI makes the client by which admission and priority and fairness use
// the host cluster. The recommended options leave it with the limits of
// client-go, 5 requests a second. Each Website that counts towards a quota takes
// one, and fails when it has waited for 10 seconds.
func (o CompletedOptions) applyCoreAPI(config *genericapiserver.RecommendedConfig) error {
	if err := o.Recommended.CoreAPI.ApplyTo(config); err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	// The host's priority and fairness sets the pace.
	config.ClientConfig.QPS = -1
	// Applied once is enough: twice would start from the default again.
	o.Recommended.CoreAPI = nil
	return nil
}

// applyStorageCodec makes the store encode as --storage-media-type says and in
// the storage version. EtcdOptions leave that to a storage factory that
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
