package children

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// checkGeneration returns a problem if a child was written from a later generation of its Website
// than this one, unless the API server has this generation too: then its store was restored to an
// older state.
func (k *Kind[S, T, A]) checkGeneration(ctx context.Context, website *v1beta1.Website, child T) *problem.Problem {
	if k.notes(child).WebsiteGeneration <= website.Generation || !metav1.IsControlledBy(child.GetObjectMeta(), website) {
		return nil
	}
	current, err := k.owners.Live.Websites(website.Namespace).Get(ctx, website.Name, metav1.GetOptions{})
	if err != nil {
		return problem.ClassifyOther(fmt.Errorf("reading Website %q, of which %s %q shows a later generation: %w",
			website.Name, k.name, child.GetName(), err))
	}
	if current.UID == website.UID && current.Generation == website.Generation {
		return nil
	}
	return outdated(website, current)
}

// outdated returns the problem of a cache without the current Website.
func outdated(website, current *v1beta1.Website) *problem.Problem {
	return problem.Classify(apierrors.NewConflict(v1beta1.Resource("websites"), website.Name,
		fmt.Errorf("the cache shows generation %d, the API server has generation %d", website.Generation,
			current.Generation)))
}
