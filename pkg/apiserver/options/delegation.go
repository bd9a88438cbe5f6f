package options

import (
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	authenticationunion "k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apiserver/trust"
)

// applyDelegation replaces the authenticator and the authorizer of the recommended
// options. Their clients are limited to 200 requests/s, for all users together and
// without a way to change it: a user who requests many paths, or an anonymous one,
// delays every other request. Here priority and fairness, of this server by user and
// of the host cluster, limits the requests.
//
// The replacement happens when the recommended options call for the initializers of
// admission plugins: after they have set up authentication and authorization, and
// before admission takes the authorizer.
func (o CompletedOptions) applyDelegation(trusted *trust.Cluster) error {
	authorizer, err := o.newAuthorizer()
	if err != nil {
		return err
	}
	// One provider reads the file and follows its changes.
	clientCert := &o.Recommended.Authentication.ClientCert
	if *clientCert != (genericoptions.ClientCertAuthenticationOptions{}) {
		if clientCert.CAContentProvider, err = clientCert.GetClientCAContentProvider(); err != nil {
			return fmt.Errorf("--client-ca-file: %w", err)
		}
	}
	initializers := o.Recommended.ExtraAdmissionInitializers
	o.Recommended.ExtraAdmissionInitializers = func(config *genericapiserver.RecommendedConfig) (
		[]admission.PluginInitializer, error,
	) {
		config.Authorization.Authorizer = authorizer
		if err := trustProxy(config, trusted, o.Recommended.Authentication.RequestHeader.ClientCAFile); err != nil {
			return nil, err
		}
		if err := o.replaceAuthenticator(&config.Authentication); err != nil {
			return nil, err
		}
		return initializers(config)
	}
	return nil
}

// newAuthorizer returns the authorizer of DelegatingAuthorizationOptions with an
// unlimited client.
func (o CompletedOptions) newAuthorizer() (authorizer.Authorizer, error) {
	options := o.Recommended.Authorization
	client, err := unlimitedClient(options.RemoteKubeConfigFile, options.ClientTimeout)
	if err != nil {
		return nil, fmt.Errorf("--authorization-kubeconfig: %w", err)
	}
	allowedPaths, err := path.NewAuthorizer(options.AlwaysAllowPaths)
	if err != nil {
		return nil, fmt.Errorf("--authorization-always-allow-paths: %w", err)
	}
	delegated, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             options.AllowCacheTTL,
		DenyCacheTTL:              options.DenyCacheTTL,
		WebhookRetryBackoff:       options.WebhookRetryBackoff,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("setting up delegated authorization: %w", err)
	}
	return union.New(
		union.NamedAuthorizer{AuthorizerName: "kubernetes.io/always-allow-groups",
			Authorizer: authorizerfactory.NewPrivilegedGroups(options.AlwaysAllowGroups...)},
		union.NamedAuthorizer{AuthorizerName: "kubernetes.io/always-allow-paths", Authorizer: allowedPaths},
		union.NamedAuthorizer{AuthorizerName: "kubernetes.io/webhook", Authorizer: delegated},
	)
}

// trustProxy takes the front proxy's CA from the cluster, unless a file has it.
func trustProxy(config *genericapiserver.RecommendedConfig, trusted *trust.Cluster, file string) error {
	if trusted == nil || file != "" {
		return nil
	}
	proxy := trusted.RequestHeader()
	config.Authentication.RequestHeaderConfig = proxy
	if err := config.Authentication.ApplyClientCert(proxy.CAContentProvider, config.SecureServing); err != nil {
		return fmt.Errorf("applying the request-header client CA: %w", err)
	}
	return nil
}

// replaceAuthenticator does the same for TokenReviews, and verifies the front proxy's
// certificate less often. Client certificates and request headers are authenticated
// as the recommended options have set up.
func (o CompletedOptions) replaceAuthenticator(info *genericapiserver.AuthenticationInfo) error {
	options := o.Recommended.Authentication
	// The authenticator has its own timeout.
	client, err := unlimitedClient(options.RemoteKubeConfigFile, 0)
	if err != nil {
		return fmt.Errorf("--authentication-kubeconfig: %w", err)
	}
	delegated, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient:            client.AuthenticationV1(),
		TokenAccessReviewTimeout:           options.TokenRequestTimeout,
		WebhookRetryBackoff:                options.WebhookRetryBackoff,
		CacheTTL:                           options.CacheTTL,
		ClientCertificateCAContentProvider: options.ClientCert.CAContentProvider,
	}.New()
	if err != nil {
		return fmt.Errorf("setting up delegated authentication: %w", err)
	}
	if info.RequestHeaderConfig != nil {
		proxy := trust.NewFrontProxyAuthenticator(info.RequestHeaderConfig, clock.RealClock{})
		delegated = authenticationunion.New(group.NewAuthenticatedGroupAdder(proxy), delegated)
	}
	// Anonymous authentication is last, and not tried after an error: invalid credentials do not make
	// an anonymous user.
	info.Authenticator = authenticationunion.NewFailOnError(delegated, anonymous.NewAuthenticator(nil))
	return nil
}

func unlimitedClient(kubeconfig string, timeout time.Duration) (kubernetes.Interface, error) {
	config, err := clientConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = timeout
	return kubernetes.NewForConfig(config)
}
