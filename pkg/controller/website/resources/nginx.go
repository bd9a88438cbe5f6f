package resources

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// gitRoot is the folder that git-sync publishes in. It is one below the
	// volume, because the root of an emptyDir belongs to another user and
	// git-sync wants to own its folder.
	gitRoot = gitMountPath + "/root"
	// gitLink is the name of the link in gitRoot that git-sync flips to the
	// worktree of the current commit.
	gitLink = "current"

	httpPort  = 8080
	adminPort = 8081
	tempDir   = "/tmp"
)

//go:embed nginx.conf.tmpl
var nginxTemplate string

// nginxParameters is what the template needs to know. What comes from a user is
// in Serving, and checked and quoted by newServing.
type nginxParameters struct {
	// Root is the folder that git-sync publishes in.
	Root string
	// Link is the name of the link in Root.
	Link string
	// HTTPListen and AdminListen are the addresses of the two servers.
	HTTPListen, AdminListen string
	// TempDir is the only folder that nginx writes to.
	TempDir string
	// AccessLog is where requests are logged.
	AccessLog string
	// Serving is what the Website says about its files.
	Serving serving
}

// NginxConfig renders the configuration that the nginx container of a Website
// runs with. ConfigMap holds it and Deployment rolls the pods by it, so it is
// rendered once for both. It returns an error when a value could not be written
// into it without becoming something else; the API server refuses such a value
// as well, so this is the second fence.
func NginxConfig(site *v1beta1.Website) (string, error) {
	serving, err := newServing(site)
	if err != nil {
		return "", err
	}
	return renderNginx(nginxParameters{
		Root:        gitRoot,
		Link:        gitLink,
		HTTPListen:  fmt.Sprint(httpPort),
		AdminListen: fmt.Sprint(adminPort),
		TempDir:     tempDir,
		AccessLog:   "/dev/stdout",
		Serving:     serving,
	})
}

var parseNginxTemplate = sync.OnceValues(func() (*template.Template, error) {
	return template.New("nginx.conf").
		Funcs(template.FuncMap{"quoteRegexp": regexp.QuoteMeta}).
		Option("missingkey=error").
		Parse(nginxTemplate)
})

func renderNginx(parameters nginxParameters) (string, error) {
	tmpl, err := parseNginxTemplate()
	if err != nil {
		return "", fmt.Errorf("parsing the nginx configuration template: %w", err)
	}
	var config strings.Builder
	if err := tmpl.Execute(&config, parameters); err != nil {
		return "", fmt.Errorf("rendering the nginx configuration: %w", err)
	}
	return config.String(), nil
}

// hash identifies a configuration in the annotation of a pod template: another
// configuration is another template, so the pods roll.
func hash(config string) string {
	sum := sha256.Sum256([]byte(config))
	return hex.EncodeToString(sum[:])
}
