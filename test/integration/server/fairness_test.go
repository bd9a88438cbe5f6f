package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// http2Client sends requests directly to website-apiservers and counts connections.
func http2Client(t *testing.T, connections *atomic.Int32, certificates ...tls.Certificate) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(framework.Cluster.ServingCA()) {
		t.Fatal("the serving CA is not a certificate")
	}
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: certificates},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connections.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestPriorityAndFairness configures a priority level for one user: website-apiserver must classify
// the user's direct requests into it.
func TestPriorityAndFairness(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	user := "user-of-" + namespace
	client := framework.Admin(t).Kubernetes.FlowcontrolV1()
	shares := int32(10)
	level, err := client.PriorityLevelConfigurations().Create(ctx, &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: &shares,
				LimitResponse:            flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, client.PriorityLevelConfigurations(), level.Name)
	schema, err := client.FlowSchemas().Create(ctx, &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level.Name},
			MatchingPrecedence:         100,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{
					{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: user}},
				},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: []string{"list"}, APIGroups: []string{v1beta1.GroupName}, Resources: []string{"websites"},
					Namespaces: []string{namespace},
				}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, client.FlowSchemas(), schema.Name)

	config, err := framework.Cluster.UserConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	asUser := http2Client(t, new(atomic.Int32), certificate)
	ask := func(ctx context.Context, namespace string) (flowSchema, priorityLevel string, err error) {
		url := fmt.Sprintf("%s/apis/%s/namespaces/%s/websites", framework.Cluster.WebsiteAPIServerURL(),
			v1beta1.SchemeGroupVersion, namespace)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", "", err
		}
		response, err := asUser.Do(request)
		if err != nil {
			return "", "", err
		}
		defer response.Body.Close()
		// Requests are classified before they are authorized.
		return response.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID),
			response.Header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID), nil
	}
	framework.WaitFor(t, "requests belong to the new level", func(ctx context.Context) error {
		gotSchema, gotLevel, err := ask(ctx, namespace)
		if err != nil {
			return err
		}
		if gotSchema != string(schema.UID) || gotLevel != string(level.UID) {
			return fmt.Errorf("flow schema %q, priority level %q; want %s and %s", gotSchema, gotLevel, schema.UID, level.UID)
		}
		return nil
	})
	if gotSchema, _, err := ask(ctx, "default"); err != nil || gotSchema == "" || gotSchema == string(schema.UID) {
		t.Errorf("a request that the schema does not match belongs to %q (%v), want another", gotSchema, err)
	}
}

// TestGoaway sends so many requests over a connection that a server with a goaway chance must have
// closed it: at 2 %, the odds are 1 to 6e8.
func TestGoaway(t *testing.T) {
	t.Parallel()
	config := framework.Cluster.AdminConfig()
	certificate, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	requests := func(url string) int32 {
		var connections atomic.Int32
		// Connections of anonymous clients are closed after each request.
		client := http2Client(t, &connections, certificate)
		for range 1000 {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/livez", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
				t.Fatalf("GET /livez = %s %d (%v)", response.Proto, response.StatusCode, err)
			}
		}
		return connections.Load()
	}
	s := framework.NewServer(t, "--goaway-chance=0.02")
	if n := requests(s.URL); n < 2 {
		t.Errorf("1000 requests took %d connection with --goaway-chance, want more", n)
	}
	if n := requests(framework.Cluster.WebsiteAPIServerURL()); n != 1 {
		t.Errorf("1000 requests took %d connections without --goaway-chance, want 1", n)
	}
}
