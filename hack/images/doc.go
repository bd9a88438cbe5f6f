// Package images builds the container images of the product without a container engine:
// for each program an OCI archive with an index of all platforms, and an SPDX document of
// its content. Equal sources make equal bytes, on any machine.
package images

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/controller/images"
)

const (
	// source is the URL of the images' source code.
	source = "https://github.com/kubesites/website-apiserver"
	// license of the product.
	license = "Apache-2.0"
	// user that programs run as, unless the pod says otherwise, and its group.
	user = "65532"
)

// Program is a program with an image of its own.
type Program struct {
	// Name is the name of the binary, at the root of the image, and of the archive.
	Name string
	// Package is its main package in the product's module.
	Package string
	// Image is the name of the image without its tag.
	Image string
	// Description is the text of the label.
	Description string
}

// Programs are the programs of the product.
var Programs = []Program{
	{"website-apiserver", "./cmd/apiserver", images.Repository + "/website-apiserver",
		"Serves the Website API behind kube-apiserver"},
	{"website-controller", "./cmd/controller", images.Repository + "/website-controller",
		"Reconciles the Deployments and Services of Websites"},
	{"website-agent", "./cmd/agent", images.Repository + "/website-agent",
		"Fetches and publishes git repositories, in the pods of Websites"},
}

// ParsePrograms returns the programs of these names, separated by commas; an empty string
// selects none.
func ParsePrograms(names string) (programs []Program, err error) {
	if names == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(Programs, func(p Program) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("program %q: there is no image of it", name)
		}
		programs = append(programs, Programs[i])
	}
	return programs, nil
}

// Tag is the default tag of the images.
const Tag = images.Tag
