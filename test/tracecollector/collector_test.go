package tracecollector_test

import (
	"context"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/test/tracecollector"
)

func TestSpansReachTheCollector(t *testing.T) {
	for name, test := range map[string]struct {
		perMillion int
		want       int
	}{"all": {1_000_000, 1}, "none": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			collector := tracecollector.Start(t)
			o, err := options.NewOptions()
			if err != nil {
				t.Fatal(err)
			}
			o.Tracing.ConfigFile = collector.WriteConfig(t, test.perMillion)
			completed := o.Complete()
			if err := completed.Validate(); err != nil {
				t.Fatal(err)
			}
			provider, err := completed.TracerProvider(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, span := provider.Tracer("test").Start(t.Context(), "pass")
			span.End()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := provider.Shutdown(ctx); err != nil {
				t.Fatal(err)
			}
			spans := collector.Spans()
			if len(spans) != test.want {
				t.Errorf("spans: %v, want %d", spans, test.want)
			}
			for _, span := range spans {
				if span.Service != options.Name || span.Name != "pass" {
					t.Errorf("span %+v, want pass of %s", span, options.Name)
				}
			}
		})
	}
}
