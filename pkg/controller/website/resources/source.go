package resources

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Git returns the git repository of a Website, an empty one if its source is of a kind that this version does not know.
func Git(website *v1beta1.Website) *v1beta1.GitSource {
	if git := website.Spec.Source.Git; git != nil {
		return git
	}
	return &v1beta1.GitSource{}
}

// gitRef names what is published in full: a short name is ambiguous, since a
// tag called main would win over the branch. Without a reference it is
// whatever the remote's HEAD names.
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

// checkGitArgument refuses what git would not read as the repository or ref it
// is meant as: it takes a leading hyphen for an option, some of which run commands.
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
