package website

import (
	"slices"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
)

func TestScaleTable(t *testing.T) {
	now := time.Now()
	convertor := NewScaleTableConvertor(testingclock.NewFakePassiveClock(now))
	table, err := convertor.ConvertToTable(t.Context(), &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", ResourceVersion: "7",
			CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec:   autoscalingv1.ScaleSpec{Replicas: 3},
		Status: autoscalingv1.ScaleStatus{Replicas: 2},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, column := range table.ColumnDefinitions {
		names = append(names, column.Name)
	}
	if want := []string{"Name", "Desired", "Available", "Age"}; !slices.Equal(names, want) {
		t.Errorf("columns = %v, want %v", names, want)
	}
	if want := []any{"kubia", int64(3), int64(2), "60m"}; len(table.Rows) != 1 ||
		!slices.Equal(table.Rows[0].Cells, want) || table.ResourceVersion != "7" {
		t.Errorf("rows = %v of resource version %s, want %v of 7", table.Rows, table.ResourceVersion, want)
	}
	if _, err := convertor.ConvertToTable(t.Context(), newWebsite(), nil); err == nil {
		t.Error("a Website was printed as a Scale")
	}
	if table, err = convertor.ConvertToTable(t.Context(), &autoscalingv1.Scale{},
		&metav1.TableOptions{NoHeaders: true}); err != nil || len(table.ColumnDefinitions) != 0 {
		t.Errorf("NoHeaders left %d headers (%v)", len(table.ColumnDefinitions), err)
	}
}
