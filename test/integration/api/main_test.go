// Package api tests the API as clients use it: requests by kubectl, by the generated clients and by
// plain HTTP, through the aggregator of a real kube-apiserver, with its admission policies,
// webhooks and quotas.
package api

import (
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

func TestMain(m *testing.M) {
	framework.Main(m, framework.Options{Name: "integration-api"})
}
