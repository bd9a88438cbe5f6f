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
	trust   *trust.Cluster
	peers   *peers.Peers

	registrar  *registration.Registrar
	bodies     *bodies.Limiter
	snapshots  *backup.Schedule
	fieldRules registry.FieldRules
}

// Server is website-apiserver.
type Server struct {
	// GenericAPIServer serves the API group.
	GenericAPIServer *genericapiserver.GenericAPIServer

	store     *store.Guard
	trust     *trust.Cluster
	peers     *peers.Peers
	registrar *registration.Registrar
	snapshots *backup.Schedule
}

// Complete fills in defaults.
func (c *Config) Complete() CompletedConfig {
	connects.Apply(&c.GenericConfig.Config)
	documentSync(&c.GenericConfig.Config)
	return CompletedConfig{&completedConfig{
		generic: c.GenericConfig.Complete(),
		scheme:  c.Scheme,
		codecs:  c.Codecs,
		store:   c.Store,
		trust:   c.Trust,
		peers:   c.Peers,

		registrar:  c.Registrar,
		bodies:     c.Bodies,
		snapshots:  c.Snapshots,
		fieldRules: c.FieldRules,
	}}
}

// New returns a Server that is ready to run. It returns an error when the
// storage cannot be set up.
func (c CompletedConfig) New() (*Server, error) {
	genericServer, err := c.generic.New("website-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("creating the generic API server: %w", err)
	}

	websites, err := storage.NewStorage(c.scheme, c.generic.RESTOptionsGetter,
		c.generic.Authorization.Authorizer, c.fieldRules)
	if err != nil {
		return nil, err
	}
	if c.bodies != nil {
		c.bodies.Size = websites.Website.EncodedSize
	}
	// The options of the subresource sync are a type of the group.
	group := genericapiserver.NewDefaultAPIGroupInfo(website.GroupName, c.scheme,
		runtime.NewParameterCodec(c.scheme), c.codecs)
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
	return &Server{GenericAPIServer: genericServer, store: c.store, trust: c.trust, peers: c.peers, registrar: c.registrar,
		snapshots: c.snapshots}, nil
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
	if s.trust != nil {
		background.Go(func() { s.trust.Run(running) })
		waiting, cancel := context.WithTimeout(ctx, trustTimeout)
		s.trust.Wait(waiting)
		cancel()
	}
	// The store is verified before the server listens, so that a server with the
	// right store rejects no request at its start.
	s.store.Start(ctx)
	background.Go(func() { s.store.Run(running, clock.RealClock{}) })
	if s.peers != nil {
		background.Go(func() { s.peers.Run(announcing) })
	}
	if s.registrar != nil {
		background.Go(func() { s.registrar.Run(announcing) })
	}
	if s.snapshots != nil {
		background.Go(func() { s.snapshots.Run(running, clock.RealClock{}) })
	}
	prepared := s.GenericAPIServer.PrepareRun()
	withdrawSharedPaths(prepared.OpenAPIV3VersionedService)
	err := prepared.RunWithContext(ctx)
	if err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
