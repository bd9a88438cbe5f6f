package options

import (
	"fmt"
	"sync"

	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// setFeatureDefaults sets the defaults of feature gates that differ from those of Kubernetes's libraries. They belong
// to the process, and cannot be set once there are flags.
var setFeatureDefaults = sync.OnceValue(func() error {
	// A list that is streamed from etcd and given up, as its client has gone, leaves a goroutine of etcd's client with
	// what it has received: megabytes each time.
	if err := utilfeature.DefaultMutableFeatureGate.OverrideDefault(features.EtcdRangeStream, false); err != nil {
		return fmt.Errorf("setting the default of a feature gate: %w", err)
	}
	return nil
})
