package framework

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

// Server is a website-apiserver of one test, with a store of its own. The cluster authenticates and
// authorizes its users, but its aggregator does not route to it.
type Server struct {
	*devcluster.Process
	URL   string
	Store EtcdStore
}

// StartServer starts a website-apiserver with further flags and does not wait
// until it is ready. It is stopped when the test ends.
func StartServer(t *testing.T, args ...string) *Server {
	t.Helper()
	s := StartClosedServer(t, args...)
	AcceptStore(t, s.Args()[1:])
	return s
}

// StartClosedServer is StartServer for a server that stays closed, or does not start at all: the objects of the cluster
// are owned by Websites of another store, and the store of this server is not accepted.
func StartClosedServer(t *testing.T, args ...string) *Server {
	t.Helper()
	name := "apiserver-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	store, flag := NewStore(t, name)
	s := &Server{Store: store}
	args = append([]string{flag, "--store-record-namespace=" + NewRecordNamespace(t)}, args...)
	var err error
	if s.Process, s.URL, err = Cluster.StartAPIServer(t.Context(), name, args...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// WaitOpen waits until the server serves Websites.
func (s *Server) WaitOpen(t *testing.T) {
	t.Helper()
	websites := NewClients(t, s.Config(t)).Websites.WebsiteV1beta1().Websites(metav1.NamespaceDefault)
	WaitFor(t, "the server is open", func(ctx context.Context) error {
		_, err := websites.List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}

// NewServer starts a website-apiserver with further flags and waits until it is
// ready.
func NewServer(t *testing.T, args ...string) *Server {
	t.Helper()
	s := StartServer(t, args...)
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.WaitOpen(t)
	return s
}

// Config returns the administrator's client configuration.
func (s *Server) Config(t *testing.T) *rest.Config {
	t.Helper()
	config := Cluster.AdminConfig()
	config.Host = s.URL
	return config
}

// Log returns the server's log.
func (s *Server) Log(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(s.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// WaitUnready waits until a failing check makes the server unready.
func (s *Server) WaitUnready(t *testing.T, because string) {
	t.Helper()
	s.WaitFails(t, "/readyz", because)
}

// WaitFails waits until the server reports a failing check at path.
func (s *Server) WaitFails(t *testing.T, path, check string) {
	t.Helper()
	WaitFor(t, "the check "+check+" of "+path+" fails", func(ctx context.Context) error {
		code, body, err := SecureGet(ctx, t, s.URL+path, false)
		if err != nil {
			return err
		}
		if code != http.StatusInternalServerError || !strings.Contains(body, "[-]"+check+" failed") {
			return fmt.Errorf("GET %s = %d %s", path, code, body)
		}
		return nil
	})
}
