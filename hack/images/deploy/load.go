package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// loader loads the archive of an image into the nodes, by the command of a kind of cluster.
type loader struct {
	// about names the cluster.
	about string
	// command precedes the path of the archive, and after follows it.
	command, after []string
}

// loaderOf returns the loader of a cluster by the name of its kubeconfig context, or nil for an
// unknown one.
func loaderOf(kubeContext string) *loader {
	if cluster, ok := strings.CutPrefix(kubeContext, "kind-"); ok {
		return &loader{"kind cluster " + cluster, []string{"kind", "load", "image-archive"}, []string{"--name=" + cluster}}
	}
	if cluster, ok := strings.CutPrefix(kubeContext, "k3d-"); ok {
		return &loader{"k3d cluster " + cluster, []string{"k3d", "image", "import"}, []string{"--cluster=" + cluster}}
	}
	if kubeContext == "minikube" {
		return &loader{"minikube", []string{"minikube", "image", "load"}, []string{"--profile=" + kubeContext}}
	}
	return nil
}

// load loads archives into the nodes.
func (l *loader) load(ctx context.Context, archives []string) error {
	for _, archive := range archives {
		command := append(append(append([]string{}, l.command...), archive), l.after...)
		if _, err := run(ctx, "", command...); err != nil {
			return fmt.Errorf("loading an image into %s: %w", l.about, err)
		}
	}
	return nil
}

// push pushes an image to a registry, with the credentials of "docker login".
func push(ctx context.Context, reference string, index v1.ImageIndex) error {
	parsed, err := name.ParseReference(reference)
	if err != nil {
		return fmt.Errorf("REGISTRY: %w", err)
	}
	if err := remote.WriteIndex(parsed, index, remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("pushing %s: %w", reference, err)
	}
	return nil
}
