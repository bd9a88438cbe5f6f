package website

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

const (
	// SpanReconcile is the name of the span around one reconciliation of a Website.
	SpanReconcile = "website-controller/reconcile"

	// spanStepPrefix begins the names of the spans around the steps of a reconciliation.
	spanStepPrefix = SpanReconcile + "/"

	// The attributes of SpanReconcile, named after OpenTelemetry's semantic conventions for
	// Kubernetes if they define a name.
	attributeNamespace = attribute.Key("k8s.namespace.name")
	attributeName      = attribute.Key("website.name")
	attributeResult    = attribute.Key("website.reconcile.result")
)

// tracer creates the spans of reconciliations and of their steps, and measures the steps.
type tracer struct {
	spans oteltrace.Tracer
	clock clock.PassiveClock
}

// newTracer returns the tracer of a provider, which may be nil.
func newTracer(provider oteltrace.TracerProvider, clock clock.PassiveClock) tracer {
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	return tracer{spans: provider.Tracer("github.com/kubesites/website-apiserver/pkg/controller/website"), clock: clock}
}

// startReconcile starts the span of a reconciliation. The returned context has it as the parent of
// further spans.
func (t tracer) startReconcile(ctx context.Context, key cache.ObjectName) (context.Context, oteltrace.Span) {
	return t.spans.Start(ctx, SpanReconcile, oteltrace.WithAttributes(
		attributeNamespace.String(key.Namespace), attributeName.String(key.Name)))
}

// endReconcile ends the span of a reconciliation. Only errors mark it as failed: a taken name and a
// conflict are part of normal work.
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

// stepName names a part of a reconciliation, in metrics and traces.
type stepName string

// The steps, in their order.
const (
	stepClaim               stepName = "claim"
	stepConfigMap           stepName = "configmap"
	stepAgentKeys           stepName = "agent-keys"
	stepAgentConfigMap      stepName = "agent-configmap"
	stepDeployment          stepName = "deployment"
	stepService             stepName = "service"
	stepPodDisruptionBudget stepName = "poddisruptionbudget"
	stepRoutes              stepName = "routes"
	stepPreviews            stepName = "previews"
	stepStatus              stepName = "status"
	stepCollectConfigMaps   stepName = "collect-configmaps"
)

// startStep starts the span of a step, below the span of its reconciliation, and the measurement of
// its duration. The returned function ends both.
func (t tracer) startStep(ctx context.Context, name stepName) (context.Context, func(*problem.Problem)) {
	start := t.clock.Now()
	ctx, span := t.spans.Start(ctx, spanStepPrefix+string(name))
	return ctx, func(p *problem.Problem) {
		metrics.RecordStep(string(name), problem.ResultOf(p), t.clock.Since(start))
		if p != nil {
			span.RecordError(p)
			if p.Result == problem.Failure {
				span.SetStatus(codes.Error, "the step failed")
			}
		}
		span.End()
	}
}
