package install

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubesites/website-apiserver/test/framework"
)

// clusterDomain is that of the names of Services and pods.
const clusterDomain = "cluster.local"

// startDNS answers queries of pods for the names of pods of a headless Service, as the DNS of
// a cluster does: the development cluster has none. It returns the address of the server.
func startDNS(t *testing.T) (address string) {
	t.Helper()
	host, err := url.Parse(framework.Cluster.GitServerURL())
	if err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	connection, err := config.ListenPacket(t.Context(), "udp", net.JoinHostPort(host.Hostname(), "53"))
	if err != nil {
		t.Fatal(err)
	}
	client, done := framework.Admin(t).Kubernetes, make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 512)
		for {
			n, from, err := connection.ReadFrom(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			if response, err := answer(t.Context(), client, buffer[:n]); err == nil {
				_, _ = connection.WriteTo(response, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = connection.Close()
		<-done
	})
	return host.Hostname()
}

// answer answers a query.
func answer(ctx context.Context, client kubernetes.Interface, query []byte) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil {
		return nil, err
	}
	question, err := parser.Question()
	if err != nil {
		return nil, err
	}
	header.Response, header.Authoritative, header.RCode = true, true, dnsmessage.RCodeNameError
	builder := dnsmessage.NewBuilder(nil, header)
	address, err := addressOf(ctx, client, question.Name.String())
	if err != nil {
		return nil, err
	}
	if address.IsValid() {
		header.RCode = dnsmessage.RCodeSuccess
		builder = dnsmessage.NewBuilder(nil, header)
	}
	if err := errors.Join(builder.StartQuestions(), builder.Question(question), builder.StartAnswers()); err != nil {
		return nil, err
	}
	if address.IsValid() && question.Type == dnsmessage.TypeA {
		resource := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 1}
		if err := builder.AResource(resource, dnsmessage.AResource{A: address.As4()}); err != nil {
			return nil, err
		}
	}
	return builder.Finish()
}

// addressOf returns the address of the pod of a name, POD.SERVICE.NAMESPACE.svc.DOMAIN. It is
// not valid if there is none.
func addressOf(ctx context.Context, client kubernetes.Interface, name string) (netip.Addr, error) {
	name, found := strings.CutSuffix(strings.ToLower(name), ".svc."+clusterDomain+".")
	labels := strings.Split(name, ".")
	if !found || len(labels) != 3 {
		return netip.Addr{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	slices, err := client.DiscoveryV1().EndpointSlices(labels[2]).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + labels[1]})
	if err != nil {
		return netip.Addr{}, err
	}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Hostname != nil && *endpoint.Hostname == labels[0] {
				return netip.ParseAddr(endpoint.Addresses[0])
			}
		}
	}
	return netip.Addr{}, nil
}
