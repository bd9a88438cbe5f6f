package website

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
)

// scaleColumns are the columns of the scale of built-in types.
var scaleColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "Name of the Website, unique in its namespace."},
	{Name: "Desired", Type: "integer", Description: "Desired number of pods."},
	{Name: "Available", Type: "integer", Description: "Number of pods."},
	{Name: "Age", Type: "string", Description: "Time since the Website was created."},
}

// ScaleTableConvertor prints Scales for "kubectl get --subresource=scale".
type ScaleTableConvertor struct {
	clock clock.PassiveClock
}

var _ rest.TableConvertor = ScaleTableConvertor{}

// NewScaleTableConvertor returns a ScaleTableConvertor that computes ages by c.
func NewScaleTableConvertor(c clock.PassiveClock) ScaleTableConvertor {
	return ScaleTableConvertor{clock: c}
}

// ConvertToTable returns one row for a Scale. It returns an error for any other type.
func (t ScaleTableConvertor) ConvertToTable(_ context.Context, obj,
	tableOptions runtime.Object) (*metav1.Table, error) {
	scale, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, fmt.Errorf("printing a Scale as a table: got a %T", obj)
	}
	table := &metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: scale.ResourceVersion}}
	if opts, ok := tableOptions.(*metav1.TableOptions); !ok || !opts.NoHeaders {
		table.ColumnDefinitions = scaleColumns
	}
	table.Rows = []metav1.TableRow{{
		Cells: []any{scale.Name, int64(scale.Spec.Replicas), int64(scale.Status.Replicas),
			age(t.clock, scale.CreationTimestamp)},
		Object: runtime.RawExtension{Object: scale},
	}}
	return table, nil
}
