package v1alpha1

// The generated registration knows the types only; a scheme that decodes this
// version must also apply its defaults.
func init() {
	localSchemeBuilder.Register(RegisterDefaults)
}
