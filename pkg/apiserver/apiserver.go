// Package apiserver assembles website-apiserver: a generic API server with the
// API group of Website installed.
package apiserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver/backup"
	"github.com/kubesites/website-apiserver/pkg/apiserver/bodies"
	"github.com/kubesites/website-apiserver/pkg/apiserver/connects"
	"github.com/kubesites/website-apiserver/pkg/apiserver/encoding"
	"github.com/kubesites/website-apiserver/pkg/apiserver/peers"
	"github.com/kubesites/website-apiserver/pkg/apiserver/registration"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
	"github.com/kubesites/website-apiserver/pkg/apiserver/trust"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
	"github.com/kubesites/website-apiserver/pkg/registry/website/storage"
)

// trustTimeout bounds the time for which the server does not listen because it has not
// read the CAs of its clients yet. After that, it listens and reports it.
const trustTimeout = 5 * time.Second

// Config configures a Server.
type Config struct {
	// GenericConfig configures the common parts of API servers: serving,
	// authentication, authorization, admission, storage.
	GenericConfig *genericapiserver.RecommendedConfig
	// Scheme knows the types of the API group.
	Scheme *runtime.Scheme
	// Codecs encode and decode the types of Scheme.
	Codecs serializer.CodecFactory
	// Store guards the store while the server runs. Nil if GenericConfig has storage
	// without a guard, as in tests.
	Store *store.Guard
	// Trust provides the host cluster's CAs. Nil if they are not used.
	Trust *trust.Cluster
	// Peers are the other replicas. Nil if there are none.
	Peers *peers.Peers
	// Registrar registers the server with the host cluster. Nil if others do.
	Registrar *registration.Registrar
	// Bodies is in the handler chain of GenericConfig, and gets the sizes of the
	// stored Websites. Nil if GenericConfig has no limit, as in tests.
	Bodies *bodies.Limiter
	// Snapshots is the schedule of snapshots of the store. Nil if there is none.
	Snapshots *backup.Schedule
	// FieldRules are the rules about fields of Websites in the flags.
	FieldRules registry.FieldRules
}

// Server is website-apiserver.
type Server struct {
	// GenericAPIServer serves the API group.
	GenericAPIServer *genericapiserver.GenericAPIServer

	config *Config
}

// New returns a Server that is ready to run. It returns an error when the
// storage cannot be set up.
func (c *Config) New() (*Server, error) {
	connects.Apply(&c.GenericConfig.Config)
	documentSync(&c.GenericConfig.Config)
	generic := c.GenericConfig.Complete()
	genericServer, err := generic.New("website-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("creating the generic API server: %w", err)
	}

	websites, err := storage.NewStorage(c.Scheme, generic.RESTOptionsGetter, generic.Authorization.Authorizer,
		c.FieldRules)
	if err != nil {
		return nil, err
	}
	if c.Bodies != nil {
		c.Bodies.Size = websites.Website.EncodedSize
	}
	// The options of the subresource sync are a type of the group.
	group := genericapiserver.NewDefaultAPIGroupInfo(website.GroupName, c.Scheme,
		runtime.NewParameterCodec(c.Scheme), c.Codecs)
	group.NegotiatedSerializer = encoding.NewNegotiatedSerializer(group.NegotiatedSerializer)
	for _, version := range []string{v1beta1.SchemeGroupVersion.Version, v1alpha1.SchemeGroupVersion.Version} {
		group.VersionedResourcesStorageMap[version] = map[string]rest.Storage{
			"websites":        websites.Website,
			"websites/status": websites.Status,
			"websites/scale":  websites.Scale,
		}
	}
	// A frozen version gets no new subresources.
	beta := group.VersionedResourcesStorageMap[v1beta1.SchemeGroupVersion.Version]
	beta["websites/sync"], beta["websites/rollback"] = websites.Sync, websites.Rollback
	if err := genericServer.AddPreShutdownHook("end-sync-waits",
		func() error { websites.Sync.Stop(); return nil }); err != nil {
		return nil, fmt.Errorf("ending waits on shutdown: %w", err)
	}
	if err := genericServer.InstallAPIGroup(&group); err != nil {
		return nil, fmt.Errorf("installing the API group %s: %w", website.GroupName, err)
	}
	return &Server{GenericAPIServer: genericServer, config: c}, nil
}

// Run serves until ctx ends, finishes the requests in flight and records the store
// for the last time. It returns an error when the server cannot listen.
func (s *Server) Run(ctx context.Context) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	// Announcements to clients end first, also when the server cannot listen.
	announcing, withdraw := context.WithCancel(ctx)
	defer withdraw()
	if s.config.Trust != nil {
		background.Go(func() { s.config.Trust.Run(running) })
		waiting, cancel := context.WithTimeout(ctx, trustTimeout)
		s.config.Trust.Wait(waiting)
		cancel()
	}
	// The store is verified before the server listens, so that a server with the
	// right store rejects no request at its start.
	s.config.Store.Start(ctx)
	background.Go(func() { s.config.Store.Run(running, clock.RealClock{}) })
	if s.config.Peers != nil {
		background.Go(func() { s.config.Peers.Run(announcing) })
	}
	if s.config.Registrar != nil {
		background.Go(func() { s.config.Registrar.Run(announcing) })
	}
	if s.config.Snapshots != nil {
		background.Go(func() { s.config.Snapshots.Run(running, clock.RealClock{}) })
	}
	prepared := s.GenericAPIServer.PrepareRun()
	withdrawSharedPaths(prepared.OpenAPIV3VersionedService)
	err := prepared.RunWithContext(ctx)
	if err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
