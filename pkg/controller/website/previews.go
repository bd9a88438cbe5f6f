package website

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/previews"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// reconcilePreviews has the branches that match spec.previews have a Website each, and sets
// what was found of them. Its problems are in the condition PreviewsReady: the site does not
// depend on it.
func (r *reconciler) reconcilePreviews(ctx context.Context, found *status.Input) (p *problem.Problem) {
	if found == nil {
		return nil
	}
	website, held := found.Website, r.heldPreviews(found.Website)
	wanted := resources.WantsPreviews(website)
	if !wanted && len(held) == 0 {
		return nil
	}
	ctx, end := r.tracer.startStep(ctx, stepPreviews)
	defer func() { end(p) }()

	if !wanted {
		for _, preview := range held {
			p = cmp.Or(p, r.deletePreview(ctx, website, preview, "spec.previews is not set"))
		}
		return p.RetriedApart()
	}
	if resources.IsSuspended(website) {
		found.Previews = &status.Previews{Suspended: true, Reported: website.Status.Previews}
		return nil
	}
	in := &previews.Input{Website: website, TooOld: r.memory.of(website).previewsTooOld, Now: found.Now}
	for _, preview := range held {
		if branch := branchOf(website, preview); branch != "" {
			in.Held = append(in.Held, branch)
		}
	}
	var failure git.Reason
	in.Listed, failure = previews.Current(reportsOf(found.Pods), resources.BranchesID(website), found.Now)
	selected := previews.Select(in)
	r.memory.of(website).previewsTooOld = selected.TooOld
	found.Previews = &status.Previews{Listed: in.Listed != nil, ListFailure: failure, Omitted: selected.Omitted, Next: selected.Next}

	p = r.deleteOtherPreviews(ctx, in, selected, held)
	missing, notEnsured := r.ensurePreviews(ctx, website, selected)
	p = cmp.Or(p, notEnsured)
	found.Previews.Reported = slices.DeleteFunc(selected.Reported, func(entry v1beta1.WebsitePreviewStatus) bool {
		return slices.Contains(missing, entry.WebsiteName)
	})
	if p == nil {
		return nil
	}
	found.Previews.Problem = p
	if r.statuses.queue.NumRequeuesApart(cache.MetaObjectToName(website)) >= persistent {
		found.Previews.Problem = p.Lasting()
	}
	return p.RetriedApart()
}

// heldPreviews returns the previews of a Website, without those that are being deleted. The label and the owner
// reference are both trusted: website-apiserver requires the verb preview for either.
func (r *reconciler) heldPreviews(website *v1beta1.Website) []*v1beta1.Website {
	return slices.DeleteFunc(r.children.Previews.Of(website), func(preview *v1beta1.Website) bool {
		return preview.Labels[api.LabelPreviewOf] != website.Name || !preview.DeletionTimestamp.IsZero()
	})
}

// branchOf returns the branch of a preview, or "" if that is not known: its spec can be
// changed by other clients.
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

// reportsOf returns what ready pods report of branches.
func reportsOf(pods []status.Pod) []previews.Report {
	var reports []previews.Report
	for _, pod := range pods {
		if pod.Ready && pod.Observed && pod.Reachable && !pod.SyncUnreachable {
			reports = append(reports, previews.Report{Pod: pod.Name, Branches: pod.Branches})
		}
	}
	return reports
}

// deleteOtherPreviews removes the previews of branches that are not selected.
func (r *reconciler) deleteOtherPreviews(ctx context.Context, in *previews.Input, selected *previews.Selection, held []*v1beta1.Website) (p *problem.Problem) {
	wanted := map[string]bool{}
	for _, branch := range selected.Branches {
		wanted[branches.PreviewName(in.Website.Name, branch)] = true
	}
	for _, preview := range held {
		branch := branchOf(in.Website, preview)
		if wanted[preview.Name] || branch == "" && (in.Listed == nil || in.Listed.More) {
			continue
		}
		p = cmp.Or(p, r.deletePreview(ctx, in.Website, preview, previews.Why(in, branch)))
	}
	return p
}

func (r *reconciler) deletePreview(ctx context.Context, website, preview *v1beta1.Website, why string) *problem.Problem {
	done, p := r.children.Previews.Delete(ctx, website, preview.Name)
	metrics.RecordChildWrite(r.children.Previews, done)
	if done == children.Deleted {
		r.events.PreviewRemoved(website, preview, why)
	}
	return p
}

// ensurePreviews creates and updates the previews of the selected branches, and returns the
// names of those that are missing. One that cannot be written does not hold up the others.
func (r *reconciler) ensurePreviews(ctx context.Context, website *v1beta1.Website, selected *previews.Selection) (missing []string, first *problem.Problem) {
	for _, branch := range selected.Branches {
		name := branches.PreviewName(website.Name, branch)
		isHeld := r.children.Previews.Holds(website, name)
		switch {
		case first != nil && first.Reason == "":
			// The API server may not answer.
		case first != nil && first.Reason == v1beta1.WebsiteReasonQuotaExceeded && !isHeld:
			// The quota is for all of them.
		default:
			p := r.ensurePreview(ctx, website, branch)
			isHeld = isHeld || p == nil
			first = cmp.Or(first, p)
		}
		if !isHeld {
			missing = append(missing, name)
		}
	}
	return missing, first
}

func (r *reconciler) ensurePreview(ctx context.Context, website *v1beta1.Website, branch string) *problem.Problem {
	desired, err := resources.Preview(website, branch, cmp.Or(website.Spec.Previews.Domain, r.previewDomain))
	if err != nil {
		return problem.InvalidSpec(fmt.Errorf("the preview of branch %q: %w", branch, err))
	}
	preview, done, p := r.children.Previews.Ensure(ctx, website, desired)
	metrics.RecordChildWrite(r.children.Previews, done)
	if p == nil {
		r.events.ChildWritten(website, preview, r.children.Previews, done)
	}
	return p
}
