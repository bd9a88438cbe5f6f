package validation

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxRepositoryLength is the maximum length in ASCII characters. Git servers and
// proxies do not accept longer URLs.
const maxRepositoryLength = 2048

// The repository is an argument of git, so only characters of URLs are allowed,
// and nothing that git, ssh or a shell could interpret as an option or a command.
var (
	// urlCharacters are the characters of RFC 3986, section 2, without quotes and
	// without characters that have an error message of their own.
	urlCharacters = regexp.MustCompile(`^[A-Za-z0-9._~:/\[\]@!&()*+,;=%-]+$`)
	// scpAddress is git's user@host:path form. No part may begin with '-', which
	// ssh interprets as an option.
	scpAddress = regexp.MustCompile(
		`^[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9._~/][A-Za-z0-9._~/+@%-]*$`,
	)
	// hostname is a DNS name or an IP address without brackets.
	hostname = regexp.MustCompile(`^[A-Za-z0-9:][A-Za-z0-9.:-]*$`)
	// sshUser is the user part of an ssh URL.
	sshUser = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	// pageOfRepository matches the host and path of a page of a directory, file or commit up to its kind. Other servers
	// may have repositories of such names, except GitLab, where '-' is invalid.
	pageOfRepository = regexp.MustCompile(`^github\.com/[^/]+/[^/]+(/(?:tree|blob|commit)/)` +
		`|^(?:codeberg|bitbucket)\.org/[^/]+/[^/]+(/src/)|^[^/]+/.+(/-/(?:tree|blob|commit)/)`)
	// schemePrefix is the beginning of a URL, with or without its scheme.
	schemePrefix = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:)?//`)
)

// tokenMarker is the password with which GitHub treats the user name as a token.
const tokenMarker = "x-oauth-basic"

const repositoryForms = "must be an https://, http:// or ssh:// URL, or user@host:path"

// validateRepository checks that repo is an address to fetch from. Other
// transports of git (file, ext, fd) and options are rejected.
func validateRepository(repo string, path *field.Path) field.ErrorList {
	switch {
	case repo == "":
		return field.ErrorList{field.Required(path, "the git repository to publish; "+repositoryForms)}
	case len(repo) > maxRepositoryLength:
		return field.ErrorList{field.TooLongCharacters(path, repo, maxRepositoryLength)}
	case strings.HasPrefix(repo, "-"):
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), "must not begin with '-'")}
	case strings.ContainsAny(repo, queryMarks):
		// They often contain a token, and users with list on websites can read
		// the address.
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo),
			"must not contain a query string ('?') or a fragment ('#')")}
	case strings.Contains(repo, "$"):
		// The kubelet expands $(NAME) in the arguments of containers.
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo),
			"must not contain '$'; a URL may contain %24 instead")}
	case !urlCharacters.MatchString(repo):
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), "must not contain white space, control "+
			"characters, quotes or other characters that are not legal in a URL")}
	case !strings.Contains(repo, "://"):
		if !scpAddress.MatchString(repo) {
			return field.ErrorList{field.Invalid(path, withoutCredentials(repo), repositoryForms)}
		}
		return nil
	}

	parsed, err := url.Parse(repo)
	if err != nil {
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), repositoryForms+": "+parseFailure(repo, err))}
	}
	switch scheme, _, _ := strings.Cut(repo, "://"); {
	case scheme == parsed.Scheme:
	case strings.EqualFold(scheme, parsed.Scheme):
		// Schemes are case-insensitive, but git takes them literally.
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), repositoryForms+", in lower case")}
	default:
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), repositoryForms)}
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
			return field.ErrorList{field.Invalid(path, withoutCredentials(repo),
				"the user name must consist of letters, digits, '.', '_' and '-', and must not begin with '-'")}
		}
	default:
		return field.ErrorList{field.Invalid(path, withoutCredentials(repo), repositoryForms)}
	}

	var errs field.ErrorList
	if !hostname.MatchString(parsed.Hostname()) {
		errs = append(errs, field.Invalid(path, withoutCredentials(repo), "must name a host"))
	}
	if port := parsed.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			errs = append(errs, field.Invalid(path, withoutCredentials(repo), "the port must be between 1 and 65535"))
		}
	}
	if parsed.Path == "" || parsed.Path == "/" {
		errs = append(errs, field.Invalid(path, withoutCredentials(repo), "must name a repository after the host"))
	}
	if match := pageOfRepository.FindStringSubmatch(strings.ToLower(parsed.Host) + parsed.Path); match != nil {
		errs = append(errs, field.Invalid(path, withoutCredentials(repo), fmt.Sprintf("must be the address to clone from: "+
			"remove %q and the rest, and set ref and path instead", strings.Join(match[1:], ""))))
	}
	return errs
}

// withoutCredentials returns the address for error messages, which appear in
// logs, events and terminals. It does not parse the address, which may be
// invalid, and takes everything up to the last '@' for user information, since
// an unescaped password may contain any character. Query strings and fragments,
// which often contain tokens, are hidden as well.
func withoutCredentials(address string) string {
	at := strings.LastIndex(address, "@")
	if at < 0 {
		return withoutQuery(address)
	}
	scheme := schemePrefix.FindString(address[:at])
	userinfo, host := address[len(scheme):at], withoutQuery(address[at:])
	user, password, _ := strings.Cut(userinfo, ":")
	if strings.ContainsAny(userinfo, queryMarks) {
		// The '@' and the rest may belong to the query string.
		host = ""
	}
	switch {
	case strings.ContainsAny(user, queryMarks):
		return scheme + hidden
	case password != "" && password != tokenMarker:
		return scheme + user + ":" + hidden + host
	case user == userinfo && strings.EqualFold(scheme, "ssh://"),
		user == userinfo && scheme == "" && strings.Contains(host, ":"):
		// In an ssh address the user is a login name, elsewhere it may be a token.
		return scheme + user + host
	}
	return scheme + hidden + host
}

// queryMarks begin a query string and a fragment.
const queryMarks = "?#"

// hidden replaces parts of an address that may be secret.
const hidden = "xxxxx"

// withoutQuery hides the query string and the fragment.
func withoutQuery(address string) string {
	if i := strings.IndexAny(address, queryMarks); i >= 0 {
		return address[:i+1] + hidden
	}
	return address
}

// parseFailure returns why address is not a URL. The parser's error repeats part
// of the address, which can be part of a password or token.
func parseFailure(address string, err error) string {
	if strings.ContainsAny(address, "@"+queryMarks) {
		return "must be a valid URL"
	}
	// url.Error repeats the URL, which the field error contains already.
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return err.Error()
}
