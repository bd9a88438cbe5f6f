package resources

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"k8s.io/utils/lru"

	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// siteLink is the name of the link that the agent switches to the release of the current commit.
	siteLink = "current"

	httpPort  = 8080
	adminPort = 8081
	tempDir   = "/tmp"

	// shutdownSeconds is the time that requests in flight may take after nginx was told to end: the rest
	// of the grace period, minus some time for the agent.
	shutdownSeconds = terminationGraceSeconds - drainSeconds - 3
)

//go:embed nginx.conf.tmpl
var nginxTemplate string

// nginxParameters are the parameters of the template. Values of a user are in Serving, and checked
// and quoted by newServing.
type nginxParameters struct {
	// Root is the directory in which the agent publishes.
	Root string
	// StatusURL is the URL of the agent.
	StatusURL string
	// Link is the name of the link in Root.
	Link string
	// HTTPListen and AdminListen are the addresses of the two servers.
	HTTPListen, AdminListen string
	// HTTPListenIPv6 and AdminListenIPv6 are files that may add IPv6 addresses.
	HTTPListenIPv6, AdminListenIPv6 string
	// Workers is the number of worker processes.
	Workers int64
	// Limits follow from the resources of the container.
	Limits connectionLimits
	// ShutdownSeconds is the time that requests in flight may take at the end.
	ShutdownSeconds int
	// TempDir is the only directory that nginx writes to.
	TempDir string
	// AccessLog is the log of requests, as JSON with AccessLogJSON, and RequestsLog the log in which
	// the agent counts them.
	AccessLog, RequestsLog string
	AccessLogJSON          bool
	// TrustedProxies are the networks whose X-Forwarded-For header names the client.
	TrustedProxies []string
	// Serving is spec.serving, checked and quoted.
	Serving serving
	// UsersFile is the password file of the site; empty if everyone may read it.
	UsersFile string
}

// NginxConfig renders the configuration for the nginx container of a Website. ConfigMap holds it and
// Deployment refers to it by its hash, so it is rendered once for both. It returns an error for a
// value that cannot be written without a change of its meaning; the API server rejects such a value
// as well, so this error is not expected.
func NginxConfig(website *v1beta1.Website, installation Installation) (string, error) {
	serving, err := newServing(website)
	if err != nil {
		return "", err
	}
	parameters := nginxParameters{
		Root:            siteMountPath,
		StatusURL:       fmt.Sprintf("http://127.0.0.1:%d/status", agentPort),
		Link:            siteLink,
		HTTPListen:      fmt.Sprint(httpPort),
		AdminListen:     fmt.Sprint(adminPort),
		HTTPListenIPv6:  ipv6Include(httpIPv6Key),
		AdminListenIPv6: ipv6Include(adminIPv6Key),
		Workers:         workers(website),
		ShutdownSeconds: shutdownSeconds,
		TempDir:         tempDir,
		AccessLog:       "/dev/stdout",
		AccessLogJSON:   installation.AccessLogFormat == AccessLogJSON,
		RequestsLog:     tempDir + "/" + requestsFile,
		TrustedProxies:  installation.TrustedProxies,
		Serving:         serving,
		UsersFile:       usersFile(website),
		Limits:          newConnectionLimits(website),
	}
	encoded, err := json.Marshal(parameters)
	if err != nil {
		return "", fmt.Errorf("encoding the parameters of the nginx configuration: %w", err)
	}
	key := sha256.Sum256(encoded)
	if known, found := rendered.Get(key); found {
		return known.(string), nil
	}
	config, err := renderNginx(parameters)
	if err == nil && len(config) <= maxRenderedSize {
		rendered.Add(key, config)
	}
	return config, err
}

// rendered are the last configurations, by their parameters. Sites with the same spec share one.
// Without this cache it would be rendered for each reconciliation.
var rendered = lru.New(maxRendered)

// maxRendered and maxRenderedSize, in bytes, limit its memory. Most configurations have 14 KB, and
// hundreds with many redirects.
const maxRendered, maxRenderedSize = 50, 64 << 10

// workers is one for each CPU that the container requests, or a part of one. Another worker would
// take memory, and have no CPU of its own.
func workers(website *v1beta1.Website) int64 {
	requested := requirements(website.Spec.Resources.Server, serverDefaults).Requests.Cpu()
	return max(requested.Value(), 1)
}

// nginxVariants returns both templates, by whether the site is protected. Parts for protected sites
// only are between "<%" and "%>". The template of other sites is without them, so that they do not
// change their configuration, and replace no pods.
var nginxVariants = sync.OnceValues(func() (map[bool]*template.Template, error) {
	both, err := template.New("nginx.conf").Delims("<%", "%>").Parse(nginxTemplate)
	if err != nil {
		return nil, err
	}
	variants := map[bool]*template.Template{}
	for _, protected := range []bool{false, true} {
		var text strings.Builder
		if err := both.Execute(&text, protected); err != nil {
			return nil, err
		}
		variants[protected], err = template.New("nginx.conf").
			Funcs(template.FuncMap{"quoteRegexp": regexp.QuoteMeta}).
			Option("missingkey=error").
			Parse(text.String())
		if err != nil {
			return nil, err
		}
	}
	return variants, nil
})

// OtherHosts is a regular expression for the names, in the published directory, of configuration
// files of other hosting services.
func (nginxParameters) OtherHosts() string {
	var names []string
	for _, name := range release.OtherHosts {
		names = append(names, regexp.QuoteMeta(name))
	}
	return "(?:" + strings.Join(names, "|") + ")"
}

// NearestLevels are the directories above a missing file, by number, in which nginx looks for its
// error page.
func (nginxParameters) NearestLevels() []int { return []int{1, 2, 3, 4, 5, 6, 7, 8} }

func renderNginx(parameters nginxParameters) (string, error) {
	variants, err := nginxVariants()
	if err != nil {
		return "", fmt.Errorf("parsing the nginx configuration template: %w", err)
	}
	tmpl := variants[parameters.UsersFile != ""]
	var config strings.Builder
	if err := tmpl.Execute(&config, parameters); err != nil {
		return "", fmt.Errorf("rendering the nginx configuration: %w", err)
	}
	return config.String(), nil
}

// ipv6Include is the path of a file of the ConfigMap that listens on IPv6. On a kernel without IPv6
// listening fails, and nginx with it, and a configuration has no condition for that. But the path
// leads through a directory that such a kernel lacks, and a pattern without a match includes nothing.
func ipv6Include(key string) string {
	const kernelHasIPv6 = "/proc/net/dev_snmp6"
	// /proc/net leads to /proc/<pid>/net, so the root is four levels up.
	return kernelHasIPv6 + "/../../../.." + nginxConfigPath + "/" + strings.Replace(key, "ipv6", "ipv[6]", 1)
}

// listenIPv6 is the content of such a file.
func listenIPv6(port int) string {
	return fmt.Sprintf("listen [::]:%d default_server;\n", port)
}
