package website

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

const (
	// SpanReconcile is the name of the span around one reconciliation of a Website.
	SpanReconcile = "website-controller/reconcile"

	// spanStepPrefix begins the names of the spans around the steps of a reconciliation.
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

// startReconcile starts the span of a reconciliation. What is called with the
// context that it returns makes spans below it.
func (c *Controller) startReconcile(ctx context.Context, key cache.ObjectName) (context.Context, oteltrace.Span) {
	return c.tracer.Start(ctx, SpanReconcile, oteltrace.WithAttributes(
		attributeNamespace.String(key.Namespace), attributeName.String(key.Name)))
}

// endReconcile ends the span of a reconciliation. Only what counts as an error
// marks it as failed: a taken name and a conflict are part of normal work.
func endReconcile(span oteltrace.Span, result problem.Result, problems []*problem.Problem) {
	span.SetAttributes(attributeResult.String(result.String()))
	for _, p := range problems {
		span.RecordError(p)
	}
	if result == problem.Failure {
		span.SetStatus(codes.Error, "the reconciliation failed")
	}
	span.End()
}

// step is the name of a part of a reconciliation, in metrics and traces.
type step string

// The steps, in their order.
const (
	stepClaim               step = "claim"
	stepConfigMap           step = "configmap"
	stepDeployment          step = "deployment"
	stepService             step = "service"
	stepPodDisruptionBudget step = "poddisruptionbudget"
	stepStatus              step = "status"
)

// startStep starts the span of a step, below that of its reconciliation, and its
// duration. The function that it returns ends both.
func (c *Controller) startStep(ctx context.Context, name step) (context.Context, func(*problem.Problem)) {
	start := c.clock.Now()
	ctx, span := c.tracer.Start(ctx, spanStepPrefix+string(name))
	return ctx, func(p *problem.Problem) {
		stepSeconds.WithLabelValues(string(name), problem.ResultOf(p).String()).Observe(c.clock.Since(start).Seconds())
		if p != nil {
			span.RecordError(p)
			if p.Result == problem.Failure {
				span.SetStatus(codes.Error, "the step failed")
			}
		}
		span.End()
	}
}
