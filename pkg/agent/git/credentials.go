package git

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
)

// Credentials are the files of a Secret. git and ssh read them for each command, so a changed Secret needs no restart.
type Credentials struct {
	// UsernameFile and PasswordFile are for https repositories.
	UsernameFile, PasswordFile string
	// KeyFile and KnownHostsFile are for ssh repositories.
	KeyFile, KnownHostsFile string
	// WholeHost has the password sent to each repository of the host, and not only to the path of the repository.
	WholeHost bool
}

// Proxy is the HTTP proxy.
type Proxy struct {
	// HTTPS and HTTP are the URLs of the proxies for https and http repositories.
	HTTPS, HTTP string
	// None are the hosts and networks that are reached without, separated by commas.
	None string
}

// scpLike is user@host:path.
var scpLike = regexp.MustCompile(`^(?:[^@:/\s]+@)?[^:/\s]+:[^:]`)

// protocolsOf returns the transports of a fetch from an address, redirects included: https never becomes http.
func protocolsOf(address string) (string, error) {
	scheme, _, hasScheme := strings.Cut(address, "://")
	switch {
	case strings.HasPrefix(address, "-") || strings.ContainsFunc(address, func(r rune) bool { return r < ' ' }):
	case hasScheme && scheme == "http":
		return "http:https", nil
	case hasScheme && (scheme == "https" || scheme == "ssh"):
		return scheme, nil
	case !hasScheme && !strings.Contains(address, "::") && scpLike.MatchString(address):
		return "ssh", nil
	}
	return "", failure(ReasonDowngrade, "")
}

// checkFiles names the file that a fetch needs and does not have.
func (r *Repository) checkFiles() error {
	for _, needed := range []struct {
		file   string
		reason Reason
	}{
		{r.Credentials.UsernameFile, ReasonCredentialsMissing},
		{r.Credentials.PasswordFile, ReasonCredentialsMissing},
		{r.Credentials.KeyFile, ReasonCredentialsMissing},
		{r.Credentials.KnownHostsFile, ReasonKnownHosts},
		{r.CAFile, ReasonCAMissing},
	} {
		if needed.file == "" {
			continue
		}
		info, err := os.Stat(needed.file)
		if err != nil {
			return wrap(needed.reason, "", err)
		}
		if needed.file == r.Credentials.KnownHostsFile && info.Size() == 0 {
			return failure(needed.reason, "")
		}
	}
	if r.protocols == "ssh" && r.Credentials.KnownHostsFile == "" {
		return failure(ReasonKnownHosts, "")
	}
	if r.CAFile == "" {
		return nil
	}
	// Without a certificate, some TLS libraries ignore the file, and others print another message.
	data, err := os.ReadFile(r.CAFile)
	if err != nil {
		return wrap(ReasonCAMissing, "", err)
	}
	for block, rest := pem.Decode(bytes.TrimSpace(data)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" || block.Type == "TRUSTED CERTIFICATE" {
			return nil
		}
	}
	return failure(ReasonCAInvalid, "")
}

// helper answers git's credential protocol from the files of the Secret. The password goes from the file through this
// shell into a pipe to git: it is in no argument, variable of the environment, or file of git. A request for another
// path gets no answer.
const helper = `!f() { test "$1" = get || return 0; cr=$(printf '\r'); u= p=; while IFS= read -r l; do case "$l" in ` +
	`path=%s) ;; path=*) return 0;; esac; done; IFS= read -r u <%s; IFS= read -r p <%s; ` +
	`printf 'username=%%s\npassword=%%s\n' "${u%%"$cr"}" "${p%%"$cr"}"; }; f`

// credentialSettings have git ask the helper for the scheme and host of the repository only. With submodules, git names
// the path as well.
func (r *Repository) credentialSettings() []setting {
	address, err := url.Parse(r.root().URL)
	if err != nil || address.Scheme != "https" || r.Credentials.PasswordFile == "" {
		return nil
	}
	origin := url.URL{Scheme: address.Scheme, Host: address.Host}
	settings := []setting{{
		"credential." + origin.String() + ".helper",
		fmt.Sprintf(helper, quoted(strings.Trim(address.Path, "/")),
			quoted(r.Credentials.UsernameFile), quoted(r.Credentials.PasswordFile)),
	}}
	if r.root().Submodules != SubmodulesNone && !r.Credentials.WholeHost {
		settings = append(settings, setting{"credential.useHttpPath", "true"})
	}
	return settings
}

// remoteSettings are the settings for reaching the server. The speed has no limit: a server may prepare a large pack in
// silence until the fetch times out.
func (r *Repository) remoteSettings() []setting {
	settings := append(r.credentialSettings(),
		setting{"remote.origin.url", r.URL})
	if r.isPartial() {
		// Known by these settings only, so that no other command takes a missing object for one that can be fetched.
		settings = append(settings,
			setting{"remote.origin.promisor", "true"}, setting{"remote.origin.partialCloneFilter", "blob:none"})
	}
	return settings
}

// remoteVariables are the variables for reaching the server.
func (r *Repository) remoteVariables() []string {
	ssh := "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o IdentityAgent=none" +
		" -o GlobalKnownHostsFile=/dev/null -o ConnectTimeout=20 -o ServerAliveInterval=10 -o ServerAliveCountMax=3" +
		" -o UserKnownHostsFile=" + quoted(optionValue(r.Credentials.KnownHostsFile))
	if r.Credentials.KeyFile != "" {
		ssh += " -i " + quoted(r.Credentials.KeyFile)
	}
	variables := []string{"GIT_SSH_COMMAND=" + ssh, "GIT_SSH_VARIANT=ssh"}
	for _, variable := range []struct{ name, value string }{
		{"GIT_SSL_CAINFO", r.CAFile},
		{"https_proxy", r.Proxy.HTTPS}, {"http_proxy", r.Proxy.HTTP}, {"no_proxy", r.Proxy.None},
	} {
		if variable.value != "" {
			variables = append(variables, variable.name+"="+variable.value)
		}
	}
	return variables
}

// optionValue returns a file as the value of an option of ssh, which splits it at spaces.
func optionValue(file string) string { return `"` + file + `"` }

// quoted is a word for the shell that git runs.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// resolveURL returns the address of a submodule, which may be relative to its repository.
func resolveURL(base, address string) (string, error) {
	if !strings.HasPrefix(address, "./") && !strings.HasPrefix(address, "../") {
		return address, nil
	}
	host := strings.IndexByte(base, ':') + 1
	if scheme, rest, found := strings.Cut(base, "://"); found {
		host = len(scheme+"://") + strings.IndexByte(rest+"/", '/')
	}
	host += len(base[host:]) - len(strings.TrimLeft(base[host:], "/"))
	resolved := path.Join(base[host:], address)
	if resolved == ".." || strings.HasPrefix(resolved, "../") {
		return "", errors.New("the address of the submodule leads above the host")
	}
	return base[:host] + resolved, nil
}
