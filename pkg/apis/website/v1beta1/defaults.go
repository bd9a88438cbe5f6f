package v1beta1

// The generated registration knows the types only; a scheme that decodes this
// version must also apply its defaults and translate its field selectors.
func init() {
	localSchemeBuilder.Register(RegisterDefaults, addFieldLabelConversions)
}

// SetDefaults_Website names the Deployment after the Website. A name that the
// server is yet to generate is not known here; the storage strategy follows up.
// All other defaults are markers on the types.
func SetDefaults_Website(w *Website) {
	if w.Spec.DeploymentName == "" {
		w.Spec.DeploymentName = w.Name
	}
}
