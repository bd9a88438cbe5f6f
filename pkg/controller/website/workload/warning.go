package workload

import (
	"slices"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/agent/release"
)

// Warnings maps all warnings of the agent to messages.
var Warnings = map[release.Warning]string{
	release.WarningIndexMissing: "the path / is not found, as the published directory has no file of the name " +
		"spec.serving.index: push one, or correct spec.source.path",
	release.WarningLFSPointers: "files of the repository are in Git LFS, which is not fetched: their pointers are " +
		"published; commit the files themselves",
	release.WarningLinks: "symbolic links that lead out of the repository, to hidden files, to themselves or nowhere " +
		"are not served: commit the files themselves",
	release.WarningOtherHosts: "files that configure other hosts of pages, such as _headers and netlify.toml, have no " +
		"effect and are not served: set spec.serving, and remove them",
	release.WarningSubmodules: "submodules of the published directory are not fetched: set " +
		"spec.source.git.submodules",
}

// KnownWarnings returns the warnings with a message, each once, separated by spaces.
func KnownWarnings(warnings []release.Warning) string {
	var known []string
	for warning := range Warnings {
		if slices.Contains(warnings, warning) {
			known = append(known, string(warning))
		}
	}
	slices.Sort(known)
	return strings.Join(known, " ")
}
