package website

import (
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
	{Name: "Repo", Type: "string", Description: "Git repository that is published."},
	{Name: "Age", Type: "string", Description: "Time since the Website was created."},
	{Name: "Deployment", Type: "string", Priority: 1, Description: "Deployment that serves the site."},
}

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
			w.Spec.Source.Repository,
			t.age(w.CreationTimestamp),
			w.Spec.DeploymentName,
		},
		Object: runtime.RawExtension{Object: w},
	}
}

func (t TableConvertor) age(created metav1.Time) string {
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(t.clock.Since(created.Time).Round(time.Second))
}
