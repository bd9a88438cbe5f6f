package website

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// "kubectl get" shows columns with a priority above 0 only with "-o wide".
var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "Name of the Website, unique in its namespace."},
	{Name: "Ready", Type: "string", Description: "Available pods, of the desired number."},
	{Name: "URL", Type: "string", Description: "First URL of the Website or, without one, a colon and the node port."},
	{Name: "Commit", Type: "string", Description: "Abbreviated git commit that every ready pod serves."},
	{Name: "Sync", Type: "string", Description: "Time since a commit was published or a requested sync succeeded, " +
		"whichever was later, or the state of the requested sync: Pending, Running or Failed."},
	{Name: "Pinned", Type: "string", Description: "Abbreviated commit of spec.pin, which is served instead of the " +
		"newest one."},
	{Name: "Age", Type: "string", Description: "Time since the Website was created."},
	{Name: "Repo", Type: "string", Priority: 1, Description: "Published git repository."},
	{Name: "Ref", Type: "string", Priority: 1,
		Description: "Published branch, tag, commit or other reference of the repository."},
	{Name: "Deployment", Type: "string", Priority: 1, Description: "Deployment that serves the Website."},
	{Name: "Rollout", Type: "string", Priority: 1,
		Description: "Reason of the condition Progressing: how far the rollout of the pods is."},
}

// none is kubectl's text for an empty value of built-in types.
const none = "<none>"

// TableConvertor prints Websites for "kubectl get".
type TableConvertor struct {
	clock clock.PassiveClock
}

var _ rest.TableConvertor = TableConvertor{}

// NewTableConvertor returns a TableConvertor that computes ages by c.
func NewTableConvertor(c clock.PassiveClock) TableConvertor {
	return TableConvertor{clock: c}
}

// ConvertToTable returns one row for a Website, or one for each Website of a
// list. It returns an error for any other type.
func (t TableConvertor) ConvertToTable(_ context.Context, obj, tableOptions runtime.Object) (*metav1.Table, error) {
	options, ok := tableOptions.(*metav1.TableOptions)
	if !ok {
		options = &metav1.TableOptions{}
	}
	whole := options.IncludeObject == metav1.IncludeObject
	switch o := obj.(type) {
	case *website.Website:
		table := t.head(*options, metav1.ListMeta{ResourceVersion: o.ResourceVersion})
		table.Rows = []metav1.TableRow{t.row(o, whole)}
		return table, nil
	case *website.WebsiteList:
		table := t.head(*options, o.ListMeta)
		table.Rows = make([]metav1.TableRow, 0, len(o.Items))
		for i := range o.Items {
			table.Rows = append(table.Rows, t.row(&o.Items[i], whole))
		}
		return table, nil
	default:
		return nil, fmt.Errorf("printing Websites as a table: got a %T", obj)
	}
}

// head returns a Table without rows.
func (TableConvertor) head(options metav1.TableOptions, list metav1.ListMeta) *metav1.Table {
	table := &metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: list.ResourceVersion, Continue: list.Continue,
		RemainingItemCount: list.RemainingItemCount}}
	if !options.NoHeaders {
		table.ColumnDefinitions = columns
	}
	return table
}

func (t TableConvertor) row(w *website.Website, whole bool) metav1.TableRow {
	row := metav1.TableRow{Cells: anyOf(t.appendCells(nil, w)), Object: runtime.RawExtension{Object: w}}
	if !whole {
		row.Object.Object = &metav1.PartialObjectMetadata{ObjectMeta: metadataOf(w)}
	}
	return row
}

// appendCells appends cells in the order of the columns.
func (t TableConvertor) appendCells(cells []string, w *website.Website) []string {
	git := gitOf(&w.Spec)
	return append(cells,
		w.Name,
		strconv.Itoa(int(w.Status.AvailableReplicas))+"/"+strconv.Itoa(int(ptr.Deref(w.Spec.Replicas, 1))),
		address(&w.Status),
		cmp.Or(short(w.Status.Commit), none),
		cmp.Or(t.synced(&w.Status), none),
		cmp.Or(short(w.Spec.PinnedCommit()), none),
		age(t.clock, w.CreationTimestamp),
		git.Repository,
		reference(git.Ref),
		w.Spec.DeploymentName,
		cmp.Or(rollout(&w.Status), none),
	)
}

// anyOf converts cells to the type in a metav1.TableRow.
func anyOf(cells []string) []any {
	values := make([]any, 0, len(cells))
	for _, cell := range cells {
		values = append(values, cell)
	}
	return values
}

// metadataOf leaves out the managed fields: they would be four fifths of a Table, and no column
// uses them.
func metadataOf(w *website.Website) metav1.ObjectMeta {
	metadata := w.ObjectMeta
	metadata.ManagedFields = nil
	return metadata
}

// synced returns the time of the last successful sync, or the reason of a failed one.
func (t TableConvertor) synced(status *v1beta1.WebsiteStatus) string {
	var last time.Time
	switch state := SyncStateOf(status.Sync, lastSyncID(status.Sync)); state {
	case v1beta1.SyncStatePending, v1beta1.SyncStateRunning:
		return string(state)
	case v1beta1.SyncStateFailed:
		// A later publication follows a later fetch.
		if len(status.History) == 0 || !status.History[0].PublishedTime.After(status.Sync.LastCompleted.Time.Time) {
			return string(state)
		}
	case v1beta1.SyncStateSucceeded:
		last = status.Sync.LastCompleted.Time.Time
	}
	if len(status.History) > 0 && status.History[0].PublishedTime.After(last) {
		last = status.History[0].PublishedTime.Time
	}
	if last.IsZero() {
		return ""
	}
	return age(t.clock, metav1.NewTime(last))
}

// address returns the first URL or the node port.
func address(status *v1beta1.WebsiteStatus) string {
	switch {
	case len(status.URLs) > 0:
		return status.URLs[0]
	case status.NodePort != 0:
		return fmt.Sprintf(":%d", status.NodePort)
	}
	return none
}

// rollout returns the progress of the rollout, or "" if it is unknown.
func rollout(status *v1beta1.WebsiteStatus) string {
	if progressing := meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteProgressing); progressing != nil {
		return progressing.Reason
	}
	return ""
}

// short abbreviates a commit as git does.
func short(commit string) string { return commit[:min(len(commit), 7)] }

// reference returns the published reference without its common prefix.
func reference(ref *v1beta1.GitReference) string {
	if ref == nil {
		ref = &v1beta1.GitReference{}
	}
	return cmp.Or(ref.Branch, ref.Tag, short(ref.Commit), ref.Name, "HEAD")
}

func age(c clock.PassiveClock, created metav1.Time) string {
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(c.Since(created.Time).Round(time.Second))
}
