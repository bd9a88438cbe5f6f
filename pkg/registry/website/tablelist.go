package website

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// TableRequest describes the Table that a client requests.
type TableRequest struct {
	// Version is the version of the Table in meta.k8s.io.
	Version schema.GroupVersion
	// Options do not include whole objects.
	Options metav1.TableOptions
}

// tableKey is the key of a TableRequest in a context.
type tableKey struct{}

// WithTableRequest returns a context in which Websites are listed as a Table.
func WithTableRequest(ctx context.Context, request TableRequest) context.Context {
	return context.WithValue(ctx, tableKey{}, request)
}

// Table is a list of Websites whose rows are made one at a time, while they are encoded. k8s.io/apiserver has all
// rows in memory, and then all of the response, before it sends the first byte.
type Table struct {
	list      *website.WebsiteList
	request   TableRequest
	convertor TableConvertor
}

var _ runtime.Object = &Table{}

// AsRequested returns a list in the form that the context requests: a Table, or the list itself.
func (t TableConvertor) AsRequested(ctx context.Context, list runtime.Object) runtime.Object {
	request, wanted := ctx.Value(tableKey{}).(TableRequest)
	websites, ok := list.(*website.WebsiteList)
	if !wanted || !ok {
		return list
	}
	return &Table{list: websites, request: request, convertor: t}
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.list.Items) }

// Head returns the Table without rows.
func (t *Table) Head() *metav1.Table {
	head := t.convertor.head(t.request.Options, t.list.ListMeta)
	head.APIVersion, head.Kind = t.request.Version.WithKind("Table").ToAPIVersionAndKind()
	head.Rows = []metav1.TableRow{}
	return head
}

// Row is the encoded form of a metav1.TableRow, without conversions. It can be reused for the
// next one.
type Row struct {
	Cells  []string                      `json:"cells"`
	Object *metav1.PartialObjectMetadata `json:"object"`

	metadata metav1.PartialObjectMetadata
}

// Row makes the i-th row.
func (t *Table) Row(i int, row *Row) {
	w := &t.list.Items[i]
	row.Cells, row.Object = t.convertor.appendCells(row.Cells[:0], w), nil
	// k8s.io/apiserver treats an object with the annotation of a bookmark as one.
	if t.request.Options.IncludeObject == metav1.IncludeNone &&
		w.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		return
	}
	row.Object = &row.metadata
	row.metadata.ObjectMeta = metadataOf(w)
	row.metadata.APIVersion, row.metadata.Kind = t.request.Version.WithKind("PartialObjectMetadata").ToAPIVersionAndKind()
}

// TableRow returns a copy as a row of an ordinary Table.
func (r *Row) TableRow() metav1.TableRow {
	row := metav1.TableRow{Cells: anyOf(r.Cells)}
	if r.Object != nil {
		metadata := *r.Object
		row.Object.Object = &metadata
	}
	return row
}

// GetObjectKind returns the kind Table.
func (t *Table) GetObjectKind() schema.ObjectKind { return t.Head().GetObjectKind() }

// DeepCopyObject copies the list as well.
func (t *Table) DeepCopyObject() runtime.Object {
	copied := *t
	copied.list = t.list.DeepCopy()
	return &copied
}
