package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
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
	// ClientHeader is how nginx names the client of a request that it passes on.
	ClientHeader = "Website-Client"
)

// refusals limits the wrong signatures of each client, and counts refused requests.
type refusals struct {
	mu      sync.Mutex
	clients map[string]*rate.Limiter
	others  *rate.Limiter
	count   int
	log     rate.Sometimes
}

func newRefusals() *refusals {
	return &refusals{clients: map[string]*rate.Limiter{}, others: rate.NewLimiter(refusedRate, refusedBurst),
		log: rate.Sometimes{Interval: time.Minute}}
}

// of returns the limit of a client. The caller holds the lock.
func (r *refusals) of(client string, now time.Time) *rate.Limiter {
	if limit := r.clients[client]; limit != nil {
		return limit
	}
	if len(r.clients) < maxClients {
		r.clients[client] = rate.NewLimiter(refusedRate, refusedBurst)
		return r.clients[client]
	}
	for name, limit := range r.clients {
		if limit.TokensAt(now) >= refusedBurst {
			delete(r.clients, name)
		}
	}
	return r.others
}

// mayTry reports whether a signature of a client is checked.
func (r *refusals) mayTry(client string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit := r.clients[client]; limit != nil {
		return limit.TokensAt(now) >= 1
	}
	return len(r.clients) < maxClients || r.others.TokensAt(now) >= 1
}

// note counts a refused request of a client.
func (r *refusals) note(ctx context.Context, client string, now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	r.of(client, now).AllowN(now, 1)
	r.log.Do(func() {
		klog.FromContext(ctx).Info("Refused a request that is not from website-controller", "client", client, "err", err,
			"refused", r.count)
	})
}

func (r *refusals) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// authorize returns the HTTP status of a refusal, or 200.
func (a *Agent) authorize(r *http.Request, parameters url.Values) int {
	if !requests.NeedsSignature(parameters) {
		return http.StatusOK
	}
	client, now := clientOf(r), a.Clock.Now()
	if !a.refusals.mayTry(client, now) {
		a.refusals.note(r.Context(), client, now, errors.New("too many refused requests"))
		return http.StatusTooManyRequests
	}
	// They change while the pod runs. There may be none yet.
	keys, _, err := readConfig(a.ConfigDir, requests.KeysFile, requests.ParsePublicKeys)
	if err == nil {
		err = requests.Verify(keys, a.PodUID, r.Header.Get(requests.Header), parameters, now)
	}
	if err == nil {
		return http.StatusOK
	}
	a.refusals.note(r.Context(), client, now, err)
	if errors.Is(err, requests.ErrUnsigned) {
		return http.StatusUnauthorized
	}
	return http.StatusForbidden
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
