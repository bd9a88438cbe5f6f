package resources

const (
	// AdminPort is where nginx says in every pod which commit it serves.
	AdminPort int32 = adminPort
	// SyncMetricsPort is where git-sync counts its fetches in every pod.
	SyncMetricsPort int32 = gitSyncMetricsPort
)
