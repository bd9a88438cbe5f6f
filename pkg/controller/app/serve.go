package app

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	componentbaseconfig "k8s.io/component-base/config"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // REST client, work queue and leader election metrics
	controllermanager "k8s.io/controller-manager/app"

	"github.com/kubesites/website-apiserver/pkg/controller/options"
)

// serverShutdownTimeout is how long a shutdown waits for requests in flight.
const serverShutdownTimeout = 5 * time.Second

// server serves the secure port: health checks for the kubelet, and metrics for authorized clients.
type server struct {
	stop    chan struct{}
	stopped <-chan struct{}
}

// serve opens the secure port, or does nothing when --secure-port is 0. The
// live checks decide whether the kubelet restarts the container, the ready
// checks whether the pod is ready.
func serve(o *options.Options, live, ready []healthz.HealthChecker) (*server, error) {
	if err := o.DefaultCertificate(); err != nil {
		return nil, err
	}
	var serving *apiserver.SecureServingInfo
	if err := o.SecureServing.ApplyTo(&serving); err != nil {
		return nil, fmt.Errorf("setting up the secure port; see --bind-address, --secure-port and --tls-cert-file: %w", err)
	}
	if serving == nil {
		return &server{}, nil
	}
	var authentication apiserver.AuthenticationInfo
	if err := o.Authentication.ApplyTo(&authentication, serving, nil); err != nil {
		return nil, fmt.Errorf("setting up the authentication of the secure port; see --authentication-kubeconfig: %w", err)
	}
	var authorization apiserver.AuthorizationInfo
	if err := o.Authorization.ApplyTo(&authorization); err != nil {
		return nil, fmt.Errorf("setting up the authorization of the secure port; see --authorization-kubeconfig: %w", err)
	}

	base := controllermanager.NewBaseHandler(
		&componentbaseconfig.DebuggingConfiguration{EnableProfiling: o.Profiling},
		healthHandler(live))
	healthz.InstallLivezHandler(base, live...)
	healthz.InstallReadyzHandler(base, ready...)

	s := &server{stop: make(chan struct{})}
	var err error
	s.stopped, _, err = serving.Serve(
		controllermanager.BuildHandlerChain(base, &authorization, &authentication),
		serverShutdownTimeout, s.stop)
	if err != nil {
		return nil, fmt.Errorf("serving on the secure port: %w", err)
	}
	return s, nil
}

// shutdown closes the port and waits until it is closed.
func (s *server) shutdown() {
	if s.stop == nil {
		return
	}
	close(s.stop)
	<-s.stopped
}

// healthHandler answers /healthz, the older name of /livez.
func healthHandler(checks []healthz.HealthChecker) http.Handler {
	mux := http.NewServeMux()
	healthz.InstallHandler(mux, checks...)
	return mux
}

// informersSynced returns a check that succeeds once the informers have synced. A
// replica that is not the leader is ready as well, since it can take over at once.
func informersSynced(synced func() bool) healthz.HealthChecker {
	return healthz.NamedCheck("informer-sync", func(*http.Request) error {
		if !synced() {
			return errors.New("the informers have not synced yet")
		}
		return nil
	})
}
