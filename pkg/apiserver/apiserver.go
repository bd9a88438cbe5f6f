// Package apiserver assembles website-apiserver: a generic API server with the
// API group of Website installed.
package apiserver

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/registry/website/storage"
)

// Config is what is needed to make a Server.
type Config struct {
	// GenericConfig configures what every API server has: serving,
	// authentication, authorization, admission, storage.
	GenericConfig *genericapiserver.RecommendedConfig
	// Scheme knows the types of the API group.
	Scheme *runtime.Scheme
	// Codecs encode and decode the types of Scheme.
	Codecs serializer.CodecFactory
}

// CompletedConfig is a Config with every default filled in. Only Complete makes
// one, so a Server cannot be made from an incomplete Config.
type CompletedConfig struct {
	*completedConfig
}

type completedConfig struct {
	generic genericapiserver.CompletedConfig
	scheme  *runtime.Scheme
	codecs  serializer.CodecFactory
}

// Server is website-apiserver.
type Server struct {
	// GenericAPIServer serves the API group.
	GenericAPIServer *genericapiserver.GenericAPIServer
}

// Complete fills in defaults.
func (c *Config) Complete() CompletedConfig {
	return CompletedConfig{&completedConfig{
		generic: c.GenericConfig.Complete(),
		scheme:  c.Scheme,
		codecs:  c.Codecs,
	}}
}

// New returns a Server that is ready to run. It returns an error when the
// storage cannot be set up.
func (c CompletedConfig) New() (*Server, error) {
	genericServer, err := c.generic.New("website-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("creating the generic API server: %w", err)
	}

	websites, err := storage.NewStorage(c.scheme, c.generic.RESTOptionsGetter, c.generic.Authorization.Authorizer)
	if err != nil {
		return nil, err
	}
	group := genericapiserver.NewDefaultAPIGroupInfo(website.GroupName, c.scheme, metav1.ParameterCodec, c.codecs)
	for _, version := range []string{v1beta1.SchemeGroupVersion.Version, v1alpha1.SchemeGroupVersion.Version} {
		group.VersionedResourcesStorageMap[version] = map[string]rest.Storage{
			"websites":        websites.Website,
			"websites/status": websites.Status,
			"websites/scale":  websites.Scale,
		}
	}
	if err := genericServer.InstallAPIGroup(&group); err != nil {
		return nil, fmt.Errorf("installing the API group %s: %w", website.GroupName, err)
	}
	return &Server{GenericAPIServer: genericServer}, nil
}
