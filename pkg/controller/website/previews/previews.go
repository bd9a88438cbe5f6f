package previews

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/events"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// Previews reconciles the Websites that are previews of others.
type Previews struct {
	children *children.Children
	events   *events.Reporter
	queue    *queue.Queue
	// domain is the domain of previews whose Website names none, or empty.
	domain string
}

// New returns Previews. domain is for the previews of Websites that name none. Without a domain,
// these have no hosts.
func New(ofWebsites *children.Children, events *events.Reporter, queue *queue.Queue, domain string) *Previews {
	return &Previews{children: ofWebsites, events: events, queue: queue, domain: domain}
}

// Concern reports whether a Website has, or should have, previews.
func (r *Previews) Concern(website *v1beta1.Website) bool {
	return resources.WantsPreviews(website) || len(r.held(website)) > 0
}

// Reconcile creates a Website for each branch that matches spec.previews, and records the result in
// input. Its problems are reported by the condition PreviewsReady: the site does not depend on it.
// tooOld is from the last selection, and is kept for the next reconciliation.
func (r *Previews) Reconcile(ctx context.Context, input *status.Input,
	tooOld *map[string]time.Time) (p *problem.Problem) {
	website, held := input.Website, r.held(input.Website)
	if !resources.WantsPreviews(website) {
		for _, preview := range held {
			p = cmp.Or(p, r.delete(ctx, website, preview, "spec.previews is not set"))
		}
		return p.RetriedApart()
	}
	if resources.IsSuspended(website) {
		input.Previews = &status.Previews{Suspended: true, Reported: website.Status.Previews}
		return nil
	}
	in := &branchState{Website: website, TooOld: *tooOld, Now: input.Now}
	for _, preview := range held {
		if branch := branchOf(website, preview); branch != "" {
			in.Held = append(in.Held, branch)
		}
	}
	var failure git.Reason
	in.Listed, failure = current(input.Pods, resources.BranchesID(website), input.Now)
	selected := newSelection(in)
	*tooOld = selected.TooOld
	input.Previews = &status.Previews{Listed: in.Listed != nil, ListFailure: failure, Omitted: selected.Omitted,
		Next: selected.Next}

	p = r.deleteOthers(ctx, in, selected, held)
	missing, notEnsured := r.ensureAll(ctx, website, selected)
	p = cmp.Or(p, notEnsured)
	input.Previews.Reported = slices.DeleteFunc(selected.Reported, func(entry v1beta1.WebsitePreviewStatus) bool {
		return slices.Contains(missing, entry.WebsiteName)
	})
	if p == nil {
		return nil
	}
	input.Previews.Problem = p
	if r.queue.NumRequeuesApart(cache.MetaObjectToName(website)) >= problem.Persistent {
		input.Previews.Problem = p.Lasting()
	}
	return p.RetriedApart()
}

// held returns the previews of a Website, without those that are being deleted. The label and the owner
// reference are both trusted: website-apiserver requires the verb preview for either.
func (r *Previews) held(website *v1beta1.Website) []*v1beta1.Website {
	return slices.DeleteFunc(r.children.Previews.Of(website), func(preview *v1beta1.Website) bool {
		return preview.Labels[api.LabelPreviewOf] != website.Name || !preview.DeletionTimestamp.IsZero()
	})
}

// branchOf returns the branch of a preview, or "" if it is unknown: other clients can change the
// spec.
func branchOf(website, preview *v1beta1.Website) string {
	if ref := resources.Git(preview).Ref; ref != nil && branches.PreviewName(website.Name, ref.Branch) == preview.Name {
		return ref.Branch
	}
	for _, entry := range website.Status.Previews {
		if entry.WebsiteName == preview.Name {
			return entry.Branch
		}
	}
	return ""
}

// deleteOthers removes the previews of branches that are not selected.
func (r *Previews) deleteOthers(ctx context.Context, in *branchState, selected *selection,
	held []*v1beta1.Website) (p *problem.Problem) {
	wanted := map[string]bool{}
	for _, branch := range selected.Branches {
		wanted[branches.PreviewName(in.Website.Name, branch)] = true
	}
	for _, preview := range held {
		branch := branchOf(in.Website, preview)
		if wanted[preview.Name] || branch == "" && (in.Listed == nil || in.Listed.More) {
			continue
		}
		p = cmp.Or(p, r.delete(ctx, in.Website, preview, cmp.Or(selected.Reasons[branch], "its branch is gone")))
	}
	return p
}

func (r *Previews) delete(ctx context.Context, website, preview *v1beta1.Website, why string) *problem.Problem {
	done, p := r.children.Previews.Delete(ctx, website, preview.Name)
	if done == children.Deleted {
		r.events.PreviewRemoved(website, preview, why)
	}
	return p
}

// ensureAll creates and updates the previews of the selected branches, and returns the names of
// missing ones. A failed write does not block the other previews.
func (r *Previews) ensureAll(ctx context.Context, website *v1beta1.Website, selected *selection) (missing []string,
	first *problem.Problem) {
	for _, branch := range selected.Branches {
		name := branches.PreviewName(website.Name, branch)
		isHeld := r.children.Previews.Held(website, name) != nil
		switch {
		case first != nil && first.Reason == "":
			// The API server may be unavailable.
		case first != nil && first.Reason == v1beta1.WebsiteReasonQuotaExceeded && !isHeld:
			// The quota applies to all previews.
		default:
			p := r.ensure(ctx, website, branch)
			isHeld = isHeld || p == nil
			first = cmp.Or(first, p)
		}
		if !isHeld {
			missing = append(missing, name)
		}
	}
	return missing, first
}

func (r *Previews) ensure(ctx context.Context, website *v1beta1.Website, branch string) *problem.Problem {
	desired, err := resources.Preview(website, branch, cmp.Or(website.Spec.Previews.Domain, r.domain))
	if err != nil {
		return problem.InvalidSpec(fmt.Errorf("the preview of branch %q: %w", branch, err))
	}
	preview, done, p := r.children.Previews.Ensure(ctx, website, desired)
	if p == nil {
		r.events.ChildWritten(website, preview, r.children.Previews, done)
	}
	return p
}
