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

	// The attributes of SpanReconcile, named after OpenTelemetry's semantic conventions for
	// Kubernetes if they define a name.
	attributeNamespace = attribute.Key("k8s.namespace.name")
	attributeName      = attribute.Key("website.name")
	attributeResult    = attribute.Key("website.reconcile.result")
)

// newTracer returns the tracer of a provider, which may be nil.
func newTracer(provider oteltrace.TracerProvider) oteltrace.Tracer {
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	return provider.Tracer("github.com/kubesites/website-apiserver/pkg/controller/website")
}

// startReconcile starts the span of a reconciliation. The returned context has it as the parent of
// further spans.
func startReconcile(ctx context.Context, tracer oteltrace.Tracer, key cache.ObjectName) (context.Context,
	oteltrace.Span) {
	return tracer.Start(ctx, SpanReconcile, oteltrace.WithAttributes(
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
