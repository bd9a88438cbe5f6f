// Package outage tests that an outage of the Websites' etcd does not affect other parts
// of the cluster: discovery and OpenAPI, kubectl, Helm, the garbage collector.
package outage

import (
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/leastprivilege"
)

var outageTime = flag.Duration("outage", 15*time.Second, "how long etcd is away in each test")

func TestMain(m *testing.M) {
	framework.Main(m, framework.Options{
		Name:    "outage",
		Cluster: &devcluster.Options{Node: devcluster.NodeSimulated, ExternalEtcd: true},
		Check:   checkPermissions,
	})
}

// checkPermissions reports requests of website-apiserver that were forbidden during the tests of
// this package, and unused permissions for Leases. A run of some tests cannot prove the latter.
func checkPermissions() error {
	used, forbidden, err := leastprivilege.Requests(framework.APIServerUser, framework.Cluster.AuditLog("kube-apiserver"))
	if err != nil {
		return err
	}
	var problems []error
	for _, request := range forbidden {
		problems = append(problems, fmt.Errorf("%s was forbidden to: %s", framework.APIServerUser, request))
	}
	if flag.Lookup("test.run").Value.String() != "" {
		return errors.Join(problems...)
	}
	allowed, err := leastprivilege.Rules(framework.Path("artifacts", "rbac", "apiserver.yaml"))
	if err != nil {
		return err
	}
	for rule := range allowed {
		if rule.Resource == "leases" && !used.Has(rule) {
			problems = append(problems, fmt.Errorf("%s is allowed to %s, which no replica has used",
				framework.APIServerUser, rule))
		}
	}
	return errors.Join(problems...)
}
