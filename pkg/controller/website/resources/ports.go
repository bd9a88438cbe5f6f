package resources

const (
	// ServicePort is the port of the Service inside the cluster.
	ServicePort int32 = 80
	// AdminPort is the port of nginx in every pod that answers probes and reports the commit.
	AdminPort int32 = adminPort
)
