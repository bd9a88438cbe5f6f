package v1alpha1

// The generated registration covers the types only; a scheme also needs the
// defaults and the field label conversions.
func init() {
	localSchemeBuilder.Register(RegisterDefaults, addFieldLabelConversions)
}
