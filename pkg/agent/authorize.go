package agent

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// refusedRate and refusedBurst limit the wrong signatures of one client per
	// second, and at once. Further requests of that client are refused unread, so that none
	// takes the processor from a site.
	refusedRate, refusedBurst = 5, 20
	// maxClients is the number of clients that are counted apart. Others share one limit.
	maxClients = 256
	// ClientHeader has the address of the client of a request that nginx passes on.
	ClientHeader = "Website-Client"
)

// refusals limits the wrong signatures of each client, and counts refused requests.
type refusals struct {
	mu      sync.Mutex
	clients map[string]*rate.Limiter
	others  *rate.Limiter
	count   atomic.Int64
	log     rate.Sometimes
}

func newRefusals() *refusals {
	return &refusals{clients: map[string]*rate.Limiter{}, others: rate.NewLimiter(refusedRate, refusedBurst),
		log: rate.Sometimes{Interval: time.Minute}}
}

// of returns the limit of a client.
func (r *refusals) of(client string, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit := r.clients[client]; limit != nil {
		return limit
	}
	if len(r.clients) == maxClients {
		maps.DeleteFunc(r.clients, func(_ string, limit *rate.Limiter) bool { return limit.TokensAt(now) >= refusedBurst })
	}
	if len(r.clients) == maxClients {
		return r.others
	}
	r.clients[client] = rate.NewLimiter(refusedRate, refusedBurst)
	return r.clients[client]
}

// authorize returns the HTTP status of a refusal, or 200.
func (a *Agent) authorize(r *http.Request, parameters url.Values) int {
	if !requests.NeedsSignature(parameters) {
		return http.StatusOK
	}
	client, now := clientOf(r), a.Clock.Now()
	limit := a.refusals.of(client, now)
	code, err := http.StatusTooManyRequests, errors.New("too many refused requests")
	if limit.TokensAt(now) >= 1 {
		code, err = a.verify(r, parameters, now)
	}
	if err == nil {
		return http.StatusOK
	}
	limit.AllowN(now, 1)
	refused := a.refusals.count.Add(1)
	a.refusals.log.Do(func() {
		klog.FromContext(r.Context()).Info("Refused a request that is not from website-controller", "client", client,
			"err", err, "refused", refused)
	})
	return code
}

// verify returns an error for a request that the controller has not signed, with the HTTP status of the refusal.
func (a *Agent) verify(r *http.Request, parameters url.Values, now time.Time) (int, error) {
	// The keys change while the pod runs. There may be none yet.
	keys, _, err := readFile(filepath.Join(a.ConfigDir, requests.KeysFile), requests.ParsePublicKeys)
	if err == nil {
		err = requests.Verify(keys, a.PodUID, r.Header.Get(requests.Header), parameters, now)
	}
	if errors.Is(err, requests.ErrUnsigned) {
		return http.StatusUnauthorized, err
	}
	return http.StatusForbidden, err
}

// clientOf names the client of a request: the one that nginx names, which is in the same pod.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		if client := r.Header.Get(ClientHeader); client != "" {
			return client
		}
	}
	return host
}
