package options

import (
	"fmt"

	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// EtcdFlags returns the flags of the commands that use the store without the host
// cluster.
func (o *Options) EtcdFlags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	o.addEtcdFlags(sets.FlagSet("etcd"))
	logsapi.AddFlags(o.Logs, sets.FlagSet("logs"))
	return sets
}

// Etcd returns the connection to etcd, and the prefix of the store in it.
func (o CompletedOptions) Etcd() (storagebackend.TransportConfig, string) {
	config := o.Recommended.Etcd.StorageConfig
	return config.Transport, config.Prefix
}

// WebsiteStorage returns the server's storage configuration of Websites, and the
// resource prefix. It returns an error when flags contradict each other, or when the
// encryption keys cannot be read.
func (o CompletedOptions) WebsiteStorage() (storagebackend.ConfigForResource, string, error) {
	if err := o.applyStorageCodec(); err != nil {
		return storagebackend.ConfigForResource{}, "", err
	}
	config := genericapiserver.NewConfig(o.codecs)
	o.Recommended.Etcd.SkipHealthEndpoints = true
	if err := o.Recommended.Etcd.ApplyTo(config); err != nil {
		return storagebackend.ConfigForResource{}, "", fmt.Errorf("applying the etcd options: %w", err)
	}
	return websiteStorage(config.RESTOptionsGetter)
}

func websiteStorage(getter generic.RESTOptionsGetter) (storagebackend.ConfigForResource, string, error) {
	options, err := getter.GetRESTOptions(websitesResource, &website.Website{})
	if err != nil {
		return storagebackend.ConfigForResource{}, "", fmt.Errorf("reading the storage options of Websites: %w", err)
	}
	return *options.StorageConfig, options.ResourcePrefix, nil
}
