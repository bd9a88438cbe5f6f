package options

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apiserver/registration"
	"github.com/kubesites/website-apiserver/pkg/apiserver/servingcert"
)

const (
	defaultServingCertificateDuration = 90 * 24 * time.Hour
	// minServingCertificateDuration makes a third of the lifetime, in which a rotation must
	// be finished, longer than the time between its steps.
	minServingCertificateDuration = time.Minute
	// maxServingCertificateDuration is the lifetime of a certificate that is hardly rotated at all. The
	// CA's lifetime is a multiple, and durations end at 292 years.
	maxServingCertificateDuration = 10 * 365 * 24 * time.Hour
	// servingSecretSuffix follows the name of the Service in the name of the Secret.
	servingSecretSuffix = "-serving-cert"
)

func (o *Options) addRegistrationFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Service, "service", o.Service,
		"The Service through which the host cluster reaches this server, as NAMESPACE/NAME:PORT. If set, the server "+
			"registers its APIServices once the Service leads to a ready server and, unless --tls-cert-file is set, generates "+
			"a CA and a serving certificate, keeps them in the Secret NAME"+servingSecretSuffix+
			" of that namespace and rotates them.")
	flags.BoolVar(&o.CreateAPIServices, "create-api-services", o.CreateAPIServices,
		"Create the APIServices that do not exist, with --service. If false, the server updates those that exist: their "+
			"manifests are applied by another client, which also deletes them.")
	flags.StringVar(&o.ServiceCAFile, "service-ca-file", o.ServiceCAFile,
		"A file with the CA certificates for the caBundle of the APIServices, if --service and --tls-cert-file are set. It "+
			"is reloaded when it changes.")
	flags.DurationVar(&o.ServingCertificateDuration, "serving-certificate-duration", o.ServingCertificateDuration,
		"The lifetime of generated serving certificates. They are replaced after two thirds of it. A generated CA lives "+
			"four times as long.")
}

// generatesServingCertificate reports whether the Secret has the serving certificate.
func (o CompletedOptions) generatesServingCertificate() bool {
	return o.Service != "" && o.Recommended.SecureServing.ServerCert.CertKey.CertFile == ""
}

func (o CompletedOptions) validateRegistration() error {
	if o.Service == "" {
		if o.ServiceCAFile != "" {
			return errors.New("--service-ca-file requires --service")
		}
		return nil
	}
	_, err := registration.ParseService(o.Service)
	switch {
	case err != nil:
		return fmt.Errorf("--service=%w", err)
	case o.generatesServingCertificate() && o.ServiceCAFile != "":
		return errors.New("--service-ca-file requires --tls-cert-file: the CA of a generated certificate is known")
	case !o.generatesServingCertificate() && o.ServiceCAFile == "":
		return errors.New("--service with --tls-cert-file requires --service-ca-file, for the caBundle of the APIServices")
	case o.ServingCertificateDuration < minServingCertificateDuration ||
		o.ServingCertificateDuration > maxServingCertificateDuration:
		return fmt.Errorf("--serving-certificate-duration=%s: must be from %s to %s", o.ServingCertificateDuration,
			minServingCertificateDuration, maxServingCertificateDuration)
	}
	return nil
}

// applyRegistration makes the server serve with the certificate of the Secret, and
// returns the Registrar; nil without --service.
func (o CompletedOptions) applyRegistration(ctx context.Context,
	config *genericapiserver.RecommendedConfig) (*registration.Registrar, error) {
	if o.Service == "" {
		return nil, nil
	}
	service, err := registration.ParseService(o.Service)
	if err != nil {
		return nil, fmt.Errorf("--service=%w", err)
	}
	client, err := kubernetes.NewForConfig(config.ClientConfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	aggregation, err := aggregator.NewForConfig(config.ClientConfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	apiServices := aggregation.ApiregistrationV1().APIServices()
	registrar := registration.Config{Service: service, Client: client, APIServices: apiServices,
		Existing: !o.CreateAPIServices}
	if !o.generatesServingCertificate() {
		bundle, err := dynamiccertificates.NewDynamicCAContentFromFile("service-ca", o.ServiceCAFile)
		if err != nil {
			return nil, fmt.Errorf("--service-ca-file: %w", err)
		}
		registrar.CABundle = bundle.CurrentCABundleContent
		r := registration.New(registrar)
		bundle.AddListener(r)
		err = config.AddPostStartHook("website-service-ca", func(hook genericapiserver.PostStartHookContext) error {
			go bundle.Run(hook, 1)
			return nil
		})
		return r, err
	}

	certificate := servingcert.New(servingcert.Config{
		Client:    client,
		Namespace: service.Namespace, Name: service.Name + servingSecretSuffix,
		DNSNames: []string{service.DNSName(), service.DNSName() + ".cluster.local", "localhost"},
		Lifetime: o.ServingCertificateDuration,
		Trusted:  func(ctx context.Context, ca []byte) error { return registration.Trusts(ctx, apiServices, ca) },
		Clock:    clock.RealClock{},
	})
	// Without a certificate the secure port would reject every handshake.
	if err := certificate.RunOnce(ctx); err != nil {
		return nil, err
	}
	o.Recommended.SecureServing.ServerCert.GeneratedCert = certificate
	registrar.CABundle = certificate.CABundle
	r := registration.New(registrar)
	certificate.AddListener(r)
	return r, nil
}
