package options

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	configvalidation "k8s.io/component-base/config/validation"

	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

const (
	maxWorkers = 1000
	// lowestMinResyncPeriod keeps a mistyped unit from causing a busy loop.
	lowestMinResyncPeriod = time.Minute
	minObservationPeriod  = time.Second
)

// Validate returns every mistake in the flags at once.
func (o *Options) Validate() error {
	var errs []error
	if o.ConcurrentSyncs < 1 || o.ConcurrentSyncs > maxWorkers {
		errs = append(errs, fmt.Errorf("--concurrent-website-syncs is %d: it must be between 1 and %d",
			o.ConcurrentSyncs, maxWorkers))
	}
	if o.MaxConcurrentRollouts < 0 {
		errs = append(errs, fmt.Errorf("--max-concurrent-rollouts is %d: it must be positive, or 0 for no limit",
			o.MaxConcurrentRollouts))
	}
	if o.KubeAPIQPS == 0 {
		errs = append(errs, errors.New("--kube-api-qps is 0: it must be positive, or negative for no limit"))
	}
	if o.KubeAPIQPS > 0 && o.KubeAPIBurst < 1 {
		errs = append(errs, fmt.Errorf("--kube-api-burst is %d: it must be at least 1 when --kube-api-qps sets a limit",
			o.KubeAPIBurst))
	}
	if o.MinResyncPeriod.Duration != 0 && o.MinResyncPeriod.Duration < lowestMinResyncPeriod {
		errs = append(errs, fmt.Errorf("--min-resync-period is %v: it must be at least %v, or 0 for never",
			o.MinResyncPeriod.Duration, lowestMinResyncPeriod))
	}
	if o.WatchNamespace != metav1.NamespaceAll {
		for _, problem := range validation.ValidateNamespaceName(o.WatchNamespace, false) {
			errs = append(errs, fmt.Errorf("--watch-namespace %q is not a valid namespace name: %s", o.WatchNamespace, problem))
		}
	}
	errs = append(errs, validateImage("--nginx-image", o.NginxImage), validateImage("--git-sync-image", o.GitSyncImage),
		validateImage("--agent-image", o.AgentImage))
	errs = append(errs, validateProxy("--git-https-proxy", o.GitHTTPSProxy),
		validateProxy("--git-http-proxy", o.GitHTTPProxy))
	if strings.ContainsFunc(o.GitNoProxy, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		errs = append(errs, fmt.Errorf("--git-no-proxy %q contains white space: separate hosts by commas", o.GitNoProxy))
	}
	switch resources.AccessLogFormat(o.AccessLogFormat) {
	case resources.AccessLogText, resources.AccessLogJSON:
	default:
		errs = append(errs, fmt.Errorf("--access-log-format is %q: it must be %s or %s", o.AccessLogFormat,
			resources.AccessLogText, resources.AccessLogJSON))
	}
	for _, proxy := range o.TrustedProxies {
		_, noRange := netip.ParsePrefix(proxy)
		if address, err := netip.ParseAddr(proxy); noRange != nil && (err != nil || address.Zone() != "") {
			errs = append(errs, fmt.Errorf("--trusted-proxies has %q: it must be an IP address or a CIDR range", proxy))
		}
	}
	errs = append(errs, validateSecretName("--agent-keys-secret", o.AgentKeysSecret))
	errs = append(errs, o.validateRouting())
	for _, name := range o.ImagePullSecrets {
		errs = append(errs, validateSecretName("--image-pull-secrets", name))
	}
	switch podprobe.Mode(o.CommitObservation) {
	case podprobe.Direct, podprobe.PodProxy, podprobe.None:
	default:
		errs = append(errs, fmt.Errorf("--commit-observation is %q: it must be %s, %s or %s", o.CommitObservation,
			podprobe.Direct, podprobe.PodProxy, podprobe.None))
	}
	if o.CommitObservationPeriod < minObservationPeriod {
		errs = append(errs, fmt.Errorf("--commit-observation-period is %v: it must be at least %v", o.CommitObservationPeriod,
			minObservationPeriod))
	}
	if o.LeaderElection.LeaderElect {
		errs = append(errs, configvalidation.ValidateLeaderElectionConfiguration(&o.LeaderElection,
			field.NewPath("leader-elect")).ToAggregate())
		if o.LeaderElection.ResourceLock != resourcelock.LeasesResourceLock {
			errs = append(errs, fmt.Errorf("--leader-elect-resource-lock is %q: only %q is supported",
				o.LeaderElection.ResourceLock, resourcelock.LeasesResourceLock))
		}
	}
	errs = append(errs, o.SecureServing.Validate()...)
	errs = append(errs, o.Authentication.Validate()...)
	errs = append(errs, o.Authorization.Validate()...)
	_, err := o.tracingConfiguration()
	errs = append(errs, err)
	return utilerrors.NewAggregate(errs)
}

func validateSecretName(flag, name string) error {
	if problems := validation.NameIsDNSSubdomain(name, false); len(problems) > 0 {
		return fmt.Errorf("%s: %q is not a valid name of a Secret: %s", flag, name, problems[0])
	}
	return nil
}

// validateProxy requires a URL without credentials: any reader of pods would see them.
func validateProxy(flag, proxy string) error {
	if proxy == "" {
		return nil
	}
	parsed, err := url.Parse(proxy)
	switch {
	case err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https":
		return fmt.Errorf("%s is not the URL of a proxy, such as http://proxy.example.com:3128", flag)
	case parsed.User != nil:
		return fmt.Errorf("%s contains credentials, which would be in the spec of each pod: use a proxy that needs none",
			flag)
	default:
		return nil
	}
}

// validateImage requires a tag or digest: the image must not change while the pod
// template stays the same.
func validateImage(flag, image string) error {
	name := image[strings.LastIndex(image, "/")+1:]
	switch {
	case name == "":
		return fmt.Errorf("%s %q is not an image", flag, image)
	case strings.ContainsAny(image, " \t\n"):
		return fmt.Errorf("%s %q contains white space", flag, image)
	case !strings.ContainsAny(name, ":@"):
		return fmt.Errorf("%s %q has neither a tag nor a digest: add one", flag, image)
	case strings.HasSuffix(name, ":latest"):
		return fmt.Errorf("%s %q is not a fixed version: use another tag or a digest", flag, image)
	default:
		return nil
	}
}
