package options

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kubesites/website-apiserver/pkg/controller/images"
)

// parse applies a command line to the defaults.
func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o, err := NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, section := range o.Flags().FlagSets {
		flags.AddFlagSet(section)
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o.Complete()
}

func TestDefaults(t *testing.T) {
	o := parse(t)
	if err := o.Validate(); err != nil {
		t.Errorf("the defaults are not valid: %v", err)
	}
	if o.ConcurrentSyncs != 5 || o.KubeAPIQPS != -1 || o.SecureServing.BindPort != 10443 {
		t.Errorf("unexpected defaults: %+v", o)
	}
	if o.NginxImage != images.Nginx || o.GitSyncImage != images.GitSync {
		t.Errorf("images: %q, %q", o.NginxImage, o.GitSyncImage)
	}
	le := o.LeaderElection
	if !le.LeaderElect || le.ResourceLock != "leases" || le.ResourceNamespace != "website-system" ||
		le.ResourceName != "website-controller" ||
		le.LeaseDuration.Duration.Seconds() != 15 || le.RenewDeadline.Duration.Seconds() != 10 ||
		le.RetryPeriod.Duration.Seconds() != 1 {
		t.Errorf("leader election: %+v", le)
	}
	if o.SecureServing.ServerCert.CertDirectory != "" {
		t.Errorf("a certificate would be written to %q", o.SecureServing.ServerCert.CertDirectory)
	}
	open := strings.Join(o.Authorization.AlwaysAllowPaths, " ")
	if open != "/healthz /readyz /livez" {
		t.Errorf("open without authorization: %s", open)
	}
}

func TestOneKubeconfigIsEnough(t *testing.T) {
	o := parse(t, "--kubeconfig=a")
	if o.Authentication.RemoteKubeConfigFile != "a" || o.Authorization.RemoteKubeConfigFile != "a" {
		t.Error("the kubeconfig is not used for authentication and authorization")
	}
	o = parse(t, "--kubeconfig=a", "--authentication-kubeconfig=b", "--authorization-kubeconfig=c")
	if o.Authentication.RemoteKubeConfigFile != "b" || o.Authorization.RemoteKubeConfigFile != "c" {
		t.Error("an explicit kubeconfig was replaced")
	}
}

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		// want is part of the error; empty for none.
		want string
	}{
		"several workers":        {[]string{"--concurrent-website-syncs=50"}, ""},
		"a digest":               {[]string{"--nginx-image=example.com/nginx@sha256:0123"}, ""},
		"a registry with a port": {[]string{"--nginx-image=example.com:5000/nginx:1"}, ""},
		"no limit of rollouts":   {[]string{"--max-concurrent-rollouts=0"}, ""},
		"a limit":                {[]string{"--kube-api-qps=20", "--kube-api-burst=40"}, ""},
		"json logs":              {[]string{"--logging-format=json"}, ""},
		"no port":                {[]string{"--secure-port=0"}, ""},
		"one namespace":          {[]string{"--watch-namespace=sites"}, ""},
		"no resync":              {[]string{"--min-resync-period=0"}, ""},
		"the pod proxy":          {[]string{"--commit-observation=PodProxy", "--commit-observation-period=5s"}, ""},
		"no observation":         {[]string{"--commit-observation=None"}, ""},

		"a Gateway": {[]string{"--default-gateway=infra/public", "--default-ingress-class=nginx"}, ""},

		"access logs":            {[]string{"--access-log-format=json", "--trusted-proxies=10.0.0.0/8,fd00::1"}, ""},
		"unknown access logs":    {[]string{"--access-log-format=JSON"}, "--access-log-format"},
		"a proxy that is a name": {[]string{"--trusted-proxies=10.0.0.1,gateway"}, `"gateway"`},
		"a proxy with an option": {[]string{"--trusted-proxies=10.0.0.0/8;"}, "--trusted-proxies"},
		"an empty proxy":         {[]string{"--trusted-proxies=10.0.0.1,"}, "--trusted-proxies"},

		"proxies of git": {[]string{"--git-https-proxy=http://proxy.example.com:3128", "--git-http-proxy=https://proxy",
			"--git-no-proxy=10.0.0.0/8,.internal"}, ""},
		"a proxy of git without its scheme": {[]string{"--git-https-proxy=proxy.example.com:3128"}, "--git-https-proxy"},
		"a proxy of git with a password":    {[]string{"--git-http-proxy=http://user:secret@proxy"}, "credentials"},
		"hosts apart by spaces":             {[]string{"--git-no-proxy=10.0.0.0/8 .internal"}, "--git-no-proxy"},
		"pull secrets":                      {[]string{"--image-pull-secrets=registry,mirror"}, ""},
		"an invalid pull secret":            {[]string{"--image-pull-secrets=registry,Mirror!"}, `"Mirror!"`},

		"a domain of previews": {[]string{"--preview-domain=previews.example.com"}, ""},

		"an invalid domain":         {[]string{"--preview-domain=*.example.com"}, "--preview-domain"},
		"a domain that is too long": {[]string{"--preview-domain=" + strings.Repeat("a.", 50) + "a"}, "--preview-domain"},
		"a Gateway of no namespace": {[]string{"--default-gateway=public"}, "--default-gateway"},
		"a Gateway of no name":      {[]string{"--default-gateway=infra/"}, "--default-gateway"},
		"an invalid IngressClass":   {[]string{"--default-ingress-class=Nginx!"}, "--default-ingress-class"},
		"unknown observation":       {[]string{"--commit-observation=direct"}, "--commit-observation"},
		"observation without pause": {[]string{"--commit-observation-period=0s"}, "--commit-observation-period"},

		"no workers":                {[]string{"--concurrent-website-syncs=0"}, "--concurrent-website-syncs"},
		"too many workers":          {[]string{"--concurrent-website-syncs=100000"}, "--concurrent-website-syncs"},
		"fewer than no rollouts":    {[]string{"--max-concurrent-rollouts=-1"}, "--max-concurrent-rollouts"},
		"no requests":               {[]string{"--kube-api-qps=0"}, "--kube-api-qps"},
		"limit without burst":       {[]string{"--kube-api-qps=1", "--kube-api-burst=0"}, "--kube-api-burst"},
		"image without tag":         {[]string{"--nginx-image=nginx"}, "--nginx-image"},
		"port is not a tag":         {[]string{"--git-sync-image=example.com:5000/git-sync"}, "--git-sync-image"},
		"latest":                    {[]string{"--nginx-image=nginx:latest"}, "--nginx-image"},
		"empty image":               {[]string{"--git-sync-image="}, "--git-sync-image"},
		"image with space":          {[]string{"--git-sync-image=a:1 b"}, "--git-sync-image"},
		"renewal later than expiry": {[]string{"--leader-elect-renew-deadline=1m"}, "leader-elect"},
		"old lock":                  {[]string{"--leader-elect-resource-lock=endpoints"}, "--leader-elect-resource-lock"},
		"invalid namespace":         {[]string{"--watch-namespace=Sites!"}, "--watch-namespace"},
		"resync all the time":       {[]string{"--min-resync-period=1s"}, "--min-resync-period"},
		"no tracing configuration":  {[]string{"--tracing-config-file=missing"}, "--tracing-config-file"},
		"port out of range":         {[]string{"--secure-port=70000"}, "secure-port"},
	} {
		t.Run(name, func(t *testing.T) {
			err := parse(t, test.args...).Validate()
			switch {
			case test.want == "" && err != nil:
				t.Errorf("unexpected error: %v", err)
			case test.want != "" && err == nil:
				t.Error("no error")
			case test.want != "" && !strings.Contains(err.Error(), test.want):
				t.Errorf("the error does not name %s: %v", test.want, err)
			}
		})
	}
}

func TestValidateReportsEverything(t *testing.T) {
	err := parse(t, "--concurrent-website-syncs=0", "--kube-api-qps=0", "--nginx-image=nginx").Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, flag := range []string{"--concurrent-website-syncs", "--kube-api-qps", "--nginx-image"} {
		if !strings.Contains(err.Error(), flag) {
			t.Errorf("%s is not in %v", flag, err)
		}
	}
}

func TestCertificateStaysInMemory(t *testing.T) {
	o := parse(t)
	if err := o.DefaultCertificate(); err != nil {
		t.Fatal(err)
	}
	if o.SecureServing.ServerCert.GeneratedCert == nil || o.SecureServing.ServerCert.CertKey.CertFile != "" {
		t.Error("the certificate is not in memory")
	}
}
