package website

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/client-go/tools/cache"
)

const (
	// SpanReconcile is the name of the span around one pass over a Website.
	SpanReconcile = "website-controller/reconcile"

	// spanStepPrefix begins the names of the spans around the steps of a pass.
	spanStepPrefix = SpanReconcile + "/"

	// The attributes of SpanReconcile, named after OpenTelemetry's semantic
	// conventions for Kubernetes where those have a name.
	attributeNamespace = attribute.Key("k8s.namespace.name")
	attributeName      = attribute.Key("website.name")
	attributeResult    = attribute.Key("website.reconcile.result")
)

// tracerOf returns the tracer of a provider, which may be nil.
func tracerOf(provider oteltrace.TracerProvider) oteltrace.Tracer {
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	return provider.Tracer("github.com/kubesites/website-apiserver/pkg/controller/website")
}

// startPass starts the span of a pass. What is called with the context that it
// returns makes spans below it.
func (c *Controller) startPass(ctx context.Context, key cache.ObjectName) (context.Context, oteltrace.Span) {
	return c.tracer.Start(ctx, SpanReconcile, oteltrace.WithAttributes(
		attributeNamespace.String(key.Namespace), attributeName.String(key.Name)))
}

// endPass ends the span of a pass. Only what counts as an error marks it as
// failed: a taken name and a conflict are part of normal work.
func endPass(span oteltrace.Span, outcome result, problems []error) {
	span.SetAttributes(attributeResult.String(outcome.String()))
	for _, err := range problems {
		span.RecordError(err)
	}
	if outcome == resultError {
		span.SetStatus(codes.Error, "the pass failed")
	}
	span.End()
}

// startStep starts the span of a step, below that of its pass.
func (c *Controller) startStep(ctx context.Context, name step) (context.Context, oteltrace.Span) {
	return c.tracer.Start(ctx, spanStepPrefix+string(name))
}

// endStep ends the span of a step.
func endStep(span oteltrace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		if resultOf(err) == resultError {
			span.SetStatus(codes.Error, "the step failed")
		}
	}
	span.End()
}
