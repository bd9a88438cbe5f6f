package registration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
)

const (
	// AnnotationRegistration of the Service, with the value Disabled, ends registration.
	AnnotationRegistration = "mycontroller.nevermosby.io/registration"
	// RegistrationDisabled is that value.
	RegistrationDisabled = "Disabled"

	// resyncInterval is the time between two comparisons of the APIServices.
	resyncInterval = 10 * time.Second
	// retryInterval is the time between two attempts to reach the Service.
	retryInterval = time.Second
	// requestTimeout bounds a request to the Service.
	requestTimeout = 5 * time.Second
)

// Config configures a Registrar.
type Config struct {
	// Service is the Service of this server.
	Service Service
	// Client reads the Service.
	Client kubernetes.Interface
	// APIServices is the client of APIServices.
	APIServices aggregator.APIServiceInterface
	// Existing permits updates of existing APIServices only.
	Existing bool
	// CABundle returns the CAs of the serving certificate, PEM.
	CABundle func() []byte
}

// Registrar keeps the APIServices up to date while the server runs.
type Registrar struct {
	config      Config
	apiServices aggregator.APIServiceInterface
	changed     chan struct{}
	// answered is true once the Service has routed to a ready server.
	answered bool
}

// New returns a Registrar that has not registered anything yet.
func New(config Config) *Registrar {
	return &Registrar{config: config, apiServices: config.APIServices, changed: make(chan struct{}, 1)}
}

// Enqueue compares the APIServices at once, as the CA bundle has changed.
func (r *Registrar) Enqueue() {
	select {
	case r.changed <- struct{}{}:
	default: // One is due already.
	}
}

// Run registers the server and restores the APIServices if they change, until ctx ends.
func (r *Registrar) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	reported := ""
	for {
		err := r.sync(ctx)
		wait := resyncInterval
		switch {
		case err == nil:
			reported = ""
		case ctx.Err() == nil:
			wait = retryInterval
			if err.Error() != reported {
				logger.Error(err, "The API is not registered yet; it is retried")
				reported = err.Error()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		case <-time.After(wait):
		}
	}
}

// sync registers the API unless the Service disables it.
func (r *Registrar) sync(ctx context.Context) error {
	service, err := r.config.Client.CoreV1().Services(r.config.Service.Namespace).Get(ctx, r.config.Service.Name,
		metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the Service of this server: %w", err)
	}
	if service.Annotations[AnnotationRegistration] == RegistrationDisabled {
		return nil
	}
	bundle := r.config.CABundle()
	if len(bundle) == 0 {
		return errors.New("there is no CA bundle yet")
	}
	if !r.answered {
		if err := r.probe(ctx, service, bundle); err != nil {
			return fmt.Errorf("service %s does not lead to a ready server yet: %w", r.config.Service, err)
		}
		r.answered = true
		// The requests may have taken long, and the Service may disable registration by now:
		// see uninstallInterval.
		return r.sync(ctx)
	}
	return r.apply(ctx, bundle)
}

// probe sends a request to the server as kube-apiserver does: to the address of the Service,
// by the name of the Service.
func (r *Registrar) probe(ctx context.Context, service *corev1.Service, bundle []byte) error {
	host := service.Spec.ClusterIP
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		host = service.Spec.ExternalName
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("the CA bundle has no certificate")
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: r.config.Service.DNSName(), MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	client := &http.Client{Transport: transport, Timeout: requestTimeout}
	url := "https://" + net.JoinHostPort(host, strconv.Itoa(int(r.config.Service.Port))) + "/readyz"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
