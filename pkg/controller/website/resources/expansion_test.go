package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// expand implements the API of containers for command, args and env: $(NAME) is replaced if there is
// such a variable, $$ is a dollar sign, and all other text stays.
func expand(value string, variable func(name string) (string, bool)) string {
	var expanded strings.Builder
	for value != "" {
		before, after, found := strings.Cut(value, "$")
		expanded.WriteString(before)
		if !found {
			break
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		switch {
		case strings.HasPrefix(after, "$"):
			expanded.WriteString("$")
			value = after[1:]
		case strings.HasPrefix(after, "(") && closed:
			replacement, known := variable(name)
			if !known {
				replacement = "$(" + name + ")"
			}
			expanded.WriteString(replacement)
			value = rest
		default:
			expanded.WriteString("$")
			value = after
		}
	}
	return expanded.String()
}

// everyVariable is an environment in which every variable is set.
func everyVariable(name string) (string, bool) { return "value of " + name, true }

func expandAll(values []string, variable func(name string) (string, bool)) []string {
	expanded := make([]string, 0, len(values))
	for _, value := range values {
		expanded = append(expanded, expand(value, variable))
	}
	return expanded
}

// TestExpand compares expand with the rules that the API documents for command, args and env of a
// container.
func TestExpand(t *testing.T) {
	values := map[string]string{"VAR_A": "A", "VAR_B": "B", "VAR_C": "C", "VAR_REF": "$(VAR_A)", "VAR_EMPTY": ""}
	variable := func(name string) (string, bool) {
		value, known := values[name]
		return value, known
	}
	for input, want := range map[string]string{
		"$(VAR_A)":                      "A",
		"___$(VAR_B)___":                "___B___",
		"$(VAR_A)-$(VAR_C)":             "A-C",
		"$(VAR_REF)":                    "$(VAR_A)",
		"%%$(VAR_REF)--$(VAR_REF)%%":    "%%$(VAR_A)--$(VAR_A)%%",
		"foo$(VAR_EMPTY)bar":            "foobar",
		"foo$(VAR_Unknown)bar":          "foo$(VAR_Unknown)bar",
		"foo\\\\$(VAR_A)bar":            "foo\\\\Abar",
		"foo$$(VAR_A)bar":               "foo$(VAR_A)bar",
		"foo$$$(VAR_A)bar":              "foo$Abar",
		"$$$$$$(BIG_MONEY)":             "$$$(BIG_MONEY)",
		"f000-$VAR_A":                   "f000-$VAR_A",
		"foo$":                          "foo$",
		"foo$$":                         "foo$",
		"$VAR_A)":                       "$VAR_A)",
		"${VAR_A}":                      "${VAR_A}",
		"$(VAR_A":                       "$(VAR_A",
		"$$(VAR_A)_______$(VAR_A)$$(@)": "$(VAR_A)_______A$(@)",
		"$((VAR_A)":                     "$((VAR_A)",
		"$()":                           "$()",
	} {
		if got := expand(input, variable); got != want {
			t.Errorf("%q is expanded to %q, want %q", input, got, want)
		}
	}
}

// TestNothingIsExpanded builds pods of Websites that passed older rules, with the name of a variable
// in every possible field.
func TestNothingIsExpanded(t *testing.T) {
	for name, hostile := range map[string]string{
		"reference":         "$(GIT_USERNAME)",
		"escaped reference": "$$(GIT_USERNAME)",
		"dollar before one": "$$$(GIT_USERNAME)",
		"dollar at the end": "x$",
		"two dollars":       "x$$y",
		"not closed":        "$(GIT_USERNAME",
	} {
		t.Run(name, func(t *testing.T) {
			repository, branch := "https://evil/"+hostile+"/x.git", hostile
			tweak := withCredentials(repository, v1beta1.SubmodulesRecursive, v1beta1.CredentialScopeRepository)
			pod := buildDeployment(t, newWebsite(tweak, func(site *v1beta1.Website) {
				site.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: branch}
			})).Spec.Template.Spec
			var got []string
			for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
				got = append(got, expandAll(slices.Concat(container.Command, container.Args), everyVariable)...)
				got = append(got, expandAll(environmentOf(&container), everyVariable)...)
			}
			for _, want := range []string{"--repository=" + repository, "--ref=refs/heads/" + branch} {
				if !slices.Contains(got, want) {
					t.Errorf("the kubelet passes on %q, want %q among them", got, want)
				}
			}
			if n := strings.Count(strings.Join(got, "\n"), "value of"); n != 0 {
				t.Errorf("the kubelet expands %d names in %q", n, got)
			}
		})
	}
}

// environmentOf returns the variables of a container that have a value of their own.
func environmentOf(container *corev1.Container) []string {
	var environment []string
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			environment = append(environment, variable.Name+"="+variable.Value)
		}
	}
	return environment
}
