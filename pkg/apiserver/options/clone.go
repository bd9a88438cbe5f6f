package options

import "slices"

// clone returns a copy of the options. Applying them changes parts of the
// recommended options, which are a struct of pointers: these parts are copied, the
// others are shared. The copy must not be bound to flags.
func (o *Options) clone() *Options {
	options := *o
	recommended := *o.Recommended
	options.Recommended = &recommended
	options.ServerRun = new(*o.ServerRun)

	recommended.Etcd = new(*recommended.Etcd)
	recommended.SecureServing = new(*recommended.SecureServing)
	recommended.SecureServing.SecureServingOptions = new(*recommended.SecureServing.SecureServingOptions)
	recommended.Authentication = new(*recommended.Authentication)
	recommended.Features = new(*recommended.Features)
	recommended.Admission = new(*recommended.Admission)
	// Appending would write to an array with free capacity.
	recommended.Admission.DisablePlugins = slices.Clip(recommended.Admission.DisablePlugins)
	return &options
}
