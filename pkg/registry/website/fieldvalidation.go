package website

import "context"

type fieldValidationKey struct{}

// WithFieldValidation returns a context with the option fieldValidation of a request. The library applies it when
// it decodes bodies; the annotation of v1alpha1 is decoded later, by conversion.
func WithFieldValidation(ctx context.Context, fieldValidation string) context.Context {
	return context.WithValue(ctx, fieldValidationKey{}, fieldValidation)
}

// fieldValidationFrom returns the option of WithFieldValidation, empty without one.
func fieldValidationFrom(ctx context.Context) string {
	fieldValidation, _ := ctx.Value(fieldValidationKey{}).(string)
	return fieldValidation
}
