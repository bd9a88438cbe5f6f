package validation

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxRepositoryLength bounds the address, in characters, of which all are
// ASCII. Longer URLs exceed what git servers and proxies accept.
const maxRepositoryLength = 2048

// The repository ends up on git's command line, so only characters that can
// appear in a URL are let through, and nothing that git, ssh or a shell could
// take for an option or a command.
var (
	// urlCharacters are those of RFC 3986, section 2, without quotes and
	// backquotes.
	urlCharacters = regexp.MustCompile(`^[A-Za-z0-9._~:/?#\[\]@!$&()*+,;=%-]+$`)
	// scpAddress is git's user@host:path form. Neither part may begin with a
	// dash: ssh would read it as an option.
	scpAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9._~/][A-Za-z0-9._~/+@%-]*$`)
	// hostname is a DNS name or an IP address without brackets.
	hostname = regexp.MustCompile(`^[A-Za-z0-9:][A-Za-z0-9.:-]*$`)
	// sshUser is the user part of an ssh URL.
	sshUser = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
)

// tokenMarker in the place of a password tells some git hosts that the user name
// is a token.
const tokenMarker = "x-oauth-basic"

const repositoryForms = "must be an https://, http:// or ssh:// URL, or user@host:path"

// validateRepository checks that repo is an address that git can fetch from, and
// nothing else: git's other transports (file, ext, fd) and options are refused.
func validateRepository(repo string, path *field.Path) field.ErrorList {
	switch {
	case repo == "":
		return field.ErrorList{field.Required(path, "the git repository to publish; "+repositoryForms)}
	case len(repo) > maxRepositoryLength:
		return field.ErrorList{field.TooLongCharacters(path, repo, maxRepositoryLength)}
	case strings.HasPrefix(repo, "-"):
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), "must not begin with '-'")}
	case !urlCharacters.MatchString(repo):
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), "must not contain white space, control characters, quotes or other characters that are not legal in a URL")}
	case !strings.Contains(repo, "://"):
		if !scpAddress.MatchString(repo) {
			return field.ErrorList{field.Invalid(path, withoutCredentials(repo), repositoryForms)}
		}
		return nil
	}

	parsed, err := url.Parse(repo)
	if err != nil {
		detail := repositoryForms
		if !strings.Contains(repo, "@") {
			// Otherwise it may repeat a part of the credentials.
			detail = fmt.Sprintf("%s: %v", repositoryForms, unwrapURLError(err))
		}
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), detail)}
	}
	if !strings.HasPrefix(repo, parsed.Scheme+"://") {
		// Schemes are case-insensitive, but git takes them literally.
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), repositoryForms+", in lower case")}
	}
	return validateGitURL(repo, parsed, path)
}

func validateGitURL(repo string, parsed *url.URL, path *field.Path) field.ErrorList {
	switch parsed.Scheme {
	case "https", "http":
		if parsed.User != nil {
			return field.ErrorList{field.Invalid(path, withoutCredentials(repo), "must not contain a user name or password")}
		}
	case "ssh":
		if _, hasPassword := parsed.User.Password(); hasPassword {
			return field.ErrorList{field.Invalid(path, withoutCredentials(repo), "must not contain a password")}
		}
		if parsed.User != nil && !sshUser.MatchString(parsed.User.Username()) {
			return field.ErrorList{field.Invalid(path, withoutCredentials(repo), "the user name must consist of letters, digits, '.', '_' and '-', and must not begin with '-'")}
		}
	default:
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), repositoryForms)}
	}

	var errs field.ErrorList
	if !hostname.MatchString(parsed.Hostname()) {
		errs = append(errs, field.Invalid(path, withoutCredentials(repo), "must name a host"))
	}
	if parsed.Path == "" || parsed.Path == "/" {
		errs = append(errs, field.Invalid(path, withoutCredentials(repo), "must name a repository after the host"))
	}
	if parsed.Fragment != "" || strings.HasSuffix(repo, "#") {
		errs = append(errs, field.Invalid(path, withoutCredentials(repo), "must not contain a fragment ('#')"))
	}
	return errs
}

// withoutCredentials returns an address as an error may show it: errors end up in
// terminals, logs and the audit log. The address need not be a valid one. A user
// name is taken for a token where it is not one of ssh.
func withoutCredentials(address string) string {
	scheme, rest := "", address
	if before, after, found := strings.Cut(address, "://"); found {
		scheme, rest = before+"://", after
	}
	at := strings.LastIndex(rest, "@")
	if at < 0 {
		return address
	}
	user, password, hasPassword := strings.Cut(rest[:at], ":")
	switch {
	case strings.Contains(user, "/"):
		return address // The @ is one of the path.
	case password == "" && hasPassword, password == tokenMarker:
		user = "xxxxx"
	case hasPassword:
		user += ":xxxxx"
	case scheme != "" && !strings.EqualFold(scheme, "ssh://"):
		user = "xxxxx"
	}
	return scheme + user + rest[at:]
}

// unwrapURLError returns the error without the URL, which url.Error repeats and
// the field error shows already.
func unwrapURLError(err error) error {
	if urlErr, ok := err.(*url.Error); ok {
		return urlErr.Err
	}
	return err
}
