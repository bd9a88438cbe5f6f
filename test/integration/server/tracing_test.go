package server

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/tracecollector"
)

// TestTracing follows a request from its arrival to etcd.
func TestTracing(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	collector := tracecollector.Start(t)
	s := framework.NewServer(t, "--tracing-config-file="+collector.WriteConfig(t, 1_000_000))
	if _, err := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1beta1().Websites(namespace).Create(t.Context(),
		framework.NewWebsite(namespace, "kubia", framework.Detailed), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the collector has the spans of the request", func(context.Context) error {
		traces := map[string]sets.Set[string]{}
		for _, span := range collector.Spans() {
			if traces[span.Trace] == nil {
				traces[span.Trace] = sets.New[string]()
			}
			traces[span.Trace].Insert(span.Name)
		}
		for _, names := range traces {
			if names.HasAll("Create", "SerializeObject", "Create etcd3", "etcdserverpb.KV/Txn") {
				return nil
			}
		}
		return fmt.Errorf("traces = %v", traces)
	})
}
