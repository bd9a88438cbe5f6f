package v1alpha1

// The generated registration knows the types only; a scheme that decodes this
// version must also apply its defaults and translate its field selectors.
func init() {
	localSchemeBuilder.Register(RegisterDefaults, addFieldLabelConversions)
}
