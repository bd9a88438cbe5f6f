package options

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
)

// tracingConfiguration reads the file of --tracing-config-file. It returns nil
// without that flag.
func (o *Options) tracingConfiguration() (*tracingapi.TracingConfiguration, error) {
	if o.Tracing.ConfigFile == "" {
		return nil, nil
	}
	config, err := apiserveroptions.ReadTracingConfiguration(o.Tracing.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("--tracing-config-file: %w", err)
	}
	if errs := tracingapi.ValidateTracingConfiguration(config, o.FeatureGate, nil); len(errs) > 0 {
		return nil, fmt.Errorf("--tracing-config-file %q: %w", o.Tracing.ConfigFile, errs.ToAggregate())
	}
	return config, nil
}

// TracerProvider returns the provider that --tracing-config-file configures. Without that flag it
// records no spans. Shutting it down sends the remaining spans.
func (o *Options) TracerProvider(ctx context.Context) (tracing.TracerProvider, error) {
	config, err := o.tracingConfiguration()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("finding the host name, for the attributes of spans: %w", err)
	}
	provider, err := tracing.NewProvider(ctx, config, nil, []resource.Option{
		resource.WithAttributes(semconv.ServiceName(Name), semconv.ServiceInstanceID(host)),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up tracing; see --tracing-config-file: %w", err)
	}
	return provider, nil
}
