package website

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

func TestSpanOfAReconciliation(t *testing.T) {
	tests := map[string]struct {
		result     problem.Result
		problems   []*problem.Problem
		wantStatus codes.Code
		wantEvents int
	}{
		"success":  {problem.Success, nil, codes.Unset, 0},
		"taken":    {problem.Taken, []*problem.Problem{problem.NameTaken("x", false, "taken")}, codes.Unset, 1},
		"conflict": {problem.Conflict, []*problem.Problem{problem.Classify(errors.New("conflict"))}, codes.Unset, 1},
		"errors": {problem.Failure, []*problem.Problem{problem.Classify(errors.New("one")),
			problem.Classify(errors.New("two"))}, codes.Error, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			exporter := tracetest.NewInMemoryExporter()
			tracer := newTracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
			_, span := startReconcile(t.Context(), tracer, cache.NewObjectName("default", "kubia"))
			endReconcile(span, test.result, test.problems)

			spans := exporter.GetSpans()
			if len(spans) != 1 {
				t.Fatalf("%d spans, want 1", len(spans))
			}
			got := spans[0]
			if got.Name != SpanReconcile || got.Status.Code != test.wantStatus || len(got.Events) != test.wantEvents {
				t.Errorf("span %s with status %v and %d errors, want %s, %v, %d", got.Name, got.Status, len(got.Events),
					SpanReconcile, test.wantStatus, test.wantEvents)
			}
			attributes := map[string]string{}
			for _, a := range got.Attributes {
				attributes[string(a.Key)] = a.Value.AsString()
			}
			for key, want := range map[string]string{
				"k8s.namespace.name": "default", "website.name": "kubia", "website.reconcile.result": test.result.String(),
			} {
				if attributes[key] != want {
					t.Errorf("attribute %s = %q, want %q", key, attributes[key], want)
				}
			}
		})
	}
}

// TestStepsAreSpansBelowTheirReconciliation runs a reconciliation as a worker does.
func TestStepsAreSpansBelowTheirReconciliation(t *testing.T) {
	f := newFixture(t, newWebsite())
	exporter := tracetest.NewInMemoryExporter()
	tracer := newTracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
	f.controller.tracer = tracer
	f.controller.queue.Add(testKey)
	f.controller.work(t.Context(), make(chan struct{}))

	spans := exporter.GetSpans()
	whole := spans[len(spans)-1]
	if whole.Name != SpanReconcile {
		t.Fatalf("the last span to end is %s, want %s", whole.Name, SpanReconcile)
	}
	var steps []string
	for _, span := range spans[:len(spans)-1] {
		if span.Parent.SpanID() != whole.SpanContext.SpanID() {
			t.Errorf("span %s is not below the span of the reconciliation", span.Name)
		}
		steps = append(steps, strings.TrimPrefix(span.Name, spanStepPrefix))
	}
	want := []string{"claim", "configmap", "agent-keys", "agent-configmap", "deployment", "service", "poddisruptionbudget",
		"status", "collect-configmaps"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps = %q, want %q", steps, want)
	}
}

func TestNoTracerProvider(t *testing.T) {
	_, span := startReconcile(t.Context(), newTracer(nil), cache.NewObjectName("default", "kubia"))
	endReconcile(span, problem.Success, nil)
	if span.IsRecording() {
		t.Error("a span is recorded although tracing is disabled")
	}
}
