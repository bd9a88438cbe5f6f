package options

import (
	"fmt"
	"sync"

	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// setFeatureDefaults sets the defaults of feature gates that differ from the defaults of Kubernetes' libraries. They
// belong to the process, and cannot be set once there are flags.
var setFeatureDefaults = sync.OnceValue(func() error {
	// If a client disconnects during a list that is streamed from etcd, etcd's client leaves a goroutine with the
	// received data: megabytes each time.
	if err := utilfeature.DefaultMutableFeatureGate.OverrideDefault(features.EtcdRangeStream, false); err != nil {
		return fmt.Errorf("setting the default of a feature gate: %w", err)
	}
	return nil
})
