package resources

const (
	// ServicePort is the port of the Service inside the cluster.
	ServicePort int32 = 80
	// AdminPort is where nginx says in every pod which commit it serves.
	AdminPort int32 = adminPort
	// SyncMetricsPort is where git-sync counts its fetches in every pod.
	SyncMetricsPort int32 = gitSyncMetricsPort
)
