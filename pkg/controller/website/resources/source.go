package resources

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Git returns the git repository of a Website, or an empty one if this version does not support the
// kind of its source.
func Git(website *v1beta1.Website) *v1beta1.GitSource {
	if git := website.Spec.Source.Git; git != nil {
		return git
	}
	return &v1beta1.GitSource{}
}

// gitRef returns the full name of the published ref: a short name is ambiguous, since a tag called
// main would take precedence over the branch. Without a reference it is the HEAD of the remote.
func gitRef(ref *v1beta1.GitReference) string {
	switch {
	case ref == nil:
		return "HEAD"
	case ref.Branch != "":
		return "refs/heads/" + ref.Branch
	case ref.Tag != "":
		return "refs/tags/" + ref.Tag
	case ref.Commit != "":
		return ref.Commit
	case ref.Name != "":
		return ref.Name
	default:
		return "HEAD"
	}
}

// checkSource returns an error for a source that the agent of this version cannot fetch.
func checkSource(website *v1beta1.Website) error {
	git := website.Spec.Source.Git
	if git == nil {
		return fmt.Errorf("spec.source has no git, and this version of website-controller knows no other kind of source: " +
			"update website-controller")
	}
	switch git.Submodules {
	case v1beta1.SubmodulesNone, v1beta1.SubmodulesShallow, v1beta1.SubmodulesRecursive:
	default:
		return fmt.Errorf("spec.source.git.submodules %q is unknown to this version of website-controller: update "+
			"website-controller", git.Submodules)
	}
	if err := checkGitArgument("spec.source.git.repository", git.Repository); err != nil {
		return err
	}
	return checkGitArgument("spec.source.git.ref", gitRef(git.Ref))
}

// checkGitArgument rejects an argument that git would not interpret as a repository or ref: it
// interprets a leading hyphen as an option, and some options run commands.
func checkGitArgument(what, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("%s is empty: name the git repository to publish", what)
	case strings.HasPrefix(value, "-"):
		return fmt.Errorf("%s %q begins with a hyphen, which git would read as an option: remove it", what, value)
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return fmt.Errorf("%s %q contains white space or control characters: remove them", what, value)
	default:
		return nil
	}
}
