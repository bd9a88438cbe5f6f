// Package apiserver assembles website-apiserver: a generic API server with the
// API group of Website installed.
package apiserver

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
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
	// Store is looked after while the server runs. Nil leaves the store to whoever
	// made GenericConfig.
	Store *store.Guard
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
	store   *store.Guard
}

// Server is website-apiserver.
type Server struct {
	// GenericAPIServer serves the API group.
	GenericAPIServer *genericapiserver.GenericAPIServer

	store *store.Guard
}

// Complete fills in defaults.
func (c *Config) Complete() CompletedConfig {
	return CompletedConfig{&completedConfig{
		generic: c.GenericConfig.Complete(),
		scheme:  c.Scheme,
		codecs:  c.Codecs,
		store:   c.Store,
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
	return &Server{GenericAPIServer: genericServer, store: c.store}, nil
}

// Run serves until ctx ends, finishes the requests in flight and records the store
// for the last time. It returns an error when the server cannot listen.
func (s *Server) Run(ctx context.Context) error {
	// Verified before anything listens, a server of the right store refuses no
	// request at its start.
	s.store.Start(ctx)
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	var recorder sync.WaitGroup
	recorder.Go(func() { s.store.Run(recording, clock.RealClock{}) })
	err := s.GenericAPIServer.PrepareRun().RunWithContext(ctx)
	stop()
	recorder.Wait()
	if err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
