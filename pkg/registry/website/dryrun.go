package website

import "context"

type dryRunKey struct{}

// WithDryRun returns a context with the values of the query parameter dryRun of a request to the
// subresource sync, which connects. The library rejects the parameter for connects, and has no
// option for it.
func WithDryRun(ctx context.Context, values []string) context.Context {
	return context.WithValue(ctx, dryRunKey{}, values)
}

// DryRunFrom returns the values of WithDryRun.
func DryRunFrom(ctx context.Context) []string {
	values, _ := ctx.Value(dryRunKey{}).([]string)
	return values
}
