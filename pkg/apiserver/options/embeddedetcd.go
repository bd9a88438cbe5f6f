package options

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
)

// minQuotaBytes holds some thousands of Websites.
const minQuotaBytes = 64 << 20

func (o *Options) addEmbeddedEtcdFlags(flags *pflag.FlagSet) {
	flags.Int64Var(&o.EmbeddedEtcdQuotaBytes, "embedded-etcd-quota-backend-bytes", o.EmbeddedEtcdQuotaBytes,
		"The maximum size of the embedded etcd's database, in bytes. When it is reached, writes fail until superseded "+
			"revisions are compacted, which happens automatically, or Websites are deleted.")
	flags.Int64Var(&o.EmbeddedEtcdHistoryBytes, "embedded-etcd-history-bytes", o.EmbeddedEtcdHistoryBytes,
		"The maximum size of superseded revisions in the embedded etcd, in bytes. They are compacted when it is reached, "+
			"or after --etcd-compaction-interval. A watch that resumes from a compacted revision lists again. At most half of "+
			"the quota.")
	o.addSnapshotFlags(flags)
}

// EmbeddedEtcdConfig returns the configuration of the embedded etcd.
func (o CompletedOptions) EmbeddedEtcdConfig() embeddedetcd.Config {
	return embeddedetcd.Config{DataDir: o.DataDir, QuotaBytes: o.EmbeddedEtcdQuotaBytes,
		HistoryBytes: o.EmbeddedEtcdHistoryBytes}
}

func (o CompletedOptions) validateEmbeddedEtcd() error {
	switch {
	case !o.EmbeddedEtcd():
		return nil
	case o.EmbeddedEtcdQuotaBytes < minQuotaBytes:
		return fmt.Errorf("--embedded-etcd-quota-backend-bytes=%d: must be at least %d", o.EmbeddedEtcdQuotaBytes,
			int64(minQuotaBytes))
	case o.EmbeddedEtcdHistoryBytes <= 0 || o.EmbeddedEtcdHistoryBytes > o.EmbeddedEtcdQuotaBytes/2:
		return fmt.Errorf("--embedded-etcd-history-bytes=%d: must be between 1 and half of the quota, %d",
			o.EmbeddedEtcdHistoryBytes, o.EmbeddedEtcdQuotaBytes/2)
	}
	return o.validateSnapshots()
}
