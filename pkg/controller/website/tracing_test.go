package website

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/client-go/tools/cache"
)

func TestSpanOfAPass(t *testing.T) {
	tests := map[string]struct {
		outcome    result
		problems   []error
		wantStatus codes.Code
		wantEvents int
	}{
		"success":  {resultSuccess, nil, codes.Unset, 0},
		"taken":    {resultNameTaken, []error{&nameTakenError{kind: "Deployment", name: "x"}}, codes.Unset, 1},
		"conflict": {resultConflict, []error{errors.New("conflict")}, codes.Unset, 1},
		"errors":   {resultError, []error{errors.New("one"), errors.New("two")}, codes.Error, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			exporter := tracetest.NewInMemoryExporter()
			c := &Controller{tracer: tracerOf(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))}
			_, span := c.startPass(t.Context(), cache.NewObjectName("default", "kubia"))
			endPass(span, test.outcome, test.problems)

			spans := exporter.GetSpans()
			if len(spans) != 1 {
				t.Fatalf("%d spans, want 1", len(spans))
			}
			got := spans[0]
			if got.Name != SpanReconcile || got.Status.Code != test.wantStatus || len(got.Events) != test.wantEvents {
				t.Errorf("span %s with status %v and %d errors, want %s, %v, %d", got.Name, got.Status, len(got.Events), SpanReconcile, test.wantStatus, test.wantEvents)
			}
			attributes := map[string]string{}
			for _, a := range got.Attributes {
				attributes[string(a.Key)] = a.Value.AsString()
			}
			for key, want := range map[string]string{
				"k8s.namespace.name": "default", "website.name": "kubia", "website.reconcile.result": (test.outcome.String()),
			} {
				if attributes[key] != want {
					t.Errorf("attribute %s = %q, want %q", key, attributes[key], want)
				}
			}
		})
	}
}

func TestNoTracerProvider(t *testing.T) {
	c := &Controller{tracer: tracerOf(nil)}
	_, span := c.startPass(t.Context(), cache.NewObjectName("default", "kubia"))
	endPass(span, resultSuccess, nil)
	if span.IsRecording() {
		t.Error("a span is recorded although nobody asked for it")
	}
}
