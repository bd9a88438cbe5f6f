package website

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// Columns with a priority above 0 are shown by "kubectl get -o wide" only.
var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "Name of the Website, unique in its namespace."},
	{Name: "Ready", Type: "string", Description: "Pods available to serve the site, of those asked for."},
	{Name: "URL", Type: "string", Description: "Best address of the site or, where none is known, a colon and the port on which every node serves it."},
	{Name: "Commit", Type: "string", Description: "Beginning of the git commit that every ready pod serves."},
	{Name: "Age", Type: "string", Description: "Time since the Website was created."},
	{Name: "Repo", Type: "string", Priority: 1, Description: "Git repository that is published."},
	{Name: "Ref", Type: "string", Priority: 1, Description: "Branch, tag, commit or other reference of the repository that is published."},
	{Name: "Deployment", Type: "string", Priority: 1, Description: "Deployment that serves the site."},
}

// none is what kubectl shows of built-in types where there is nothing to show.
const none = "<none>"

// TableConvertor shows Websites as kubectl prints them.
type TableConvertor struct {
	clock clock.PassiveClock
}

var _ rest.TableConvertor = TableConvertor{}

// NewTableConvertor returns a TableConvertor that reckons ages by c.
func NewTableConvertor(c clock.PassiveClock) TableConvertor {
	return TableConvertor{clock: c}
}

// ConvertToTable returns one row for a Website, or one for each Website of a
// list. It returns an error for any other type.
func (t TableConvertor) ConvertToTable(_ context.Context, obj, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if opts, ok := tableOptions.(*metav1.TableOptions); !ok || !opts.NoHeaders {
		table.ColumnDefinitions = columns
	}
	switch o := obj.(type) {
	case *website.Website:
		table.ResourceVersion = o.ResourceVersion
		table.Rows = []metav1.TableRow{t.row(o)}
	case *website.WebsiteList:
		table.ResourceVersion = o.ResourceVersion
		table.Continue = o.Continue
		table.RemainingItemCount = o.RemainingItemCount
		table.Rows = make([]metav1.TableRow, 0, len(o.Items))
		for i := range o.Items {
			table.Rows = append(table.Rows, t.row(&o.Items[i]))
		}
	default:
		return nil, fmt.Errorf("showing Websites as a table: got a %T", obj)
	}
	return table, nil
}

func (t TableConvertor) row(w *website.Website) metav1.TableRow {
	return metav1.TableRow{
		Cells: []any{
			w.Name,
			fmt.Sprintf("%d/%d", w.Status.AvailableReplicas, ptr.Deref(w.Spec.Replicas, 1)),
			address(&w.Status),
			cmp.Or(short(w.Status.Commit), none),
			t.age(w.CreationTimestamp),
			w.Spec.Source.Repository,
			reference(w.Spec.Source.Ref),
			w.Spec.DeploymentName,
		},
		Object: runtime.RawExtension{Object: w},
	}
}

// address is what a user needs to open the site.
func address(status *website.WebsiteStatus) string {
	switch {
	case len(status.Urls) > 0:
		return status.Urls[0]
	case status.NodePort != 0:
		return fmt.Sprintf(":%d", status.NodePort)
	}
	return none
}

// short abbreviates a commit as git does.
func short(commit string) string { return commit[:min(len(commit), 7)] }

// reference is what is published of the repository, without the part of its
// name that is the same for all of its kind.
func reference(ref *website.GitReference) string {
	if ref == nil {
		ref = &website.GitReference{}
	}
	return cmp.Or(ref.Branch, ref.Tag, short(ref.Commit), ref.Name, "HEAD")
}

func (t TableConvertor) age(created metav1.Time) string {
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(t.clock.Since(created.Time).Round(time.Second))
}
