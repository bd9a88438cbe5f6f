package server

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

var attackDuration = flag.Duration("large-writes", 15*time.Second, "how long TestLargeWrites writes large Websites")

const (
	// attackers is the number of concurrent writers, each with a connection of its own.
	attackers = 16
	// maxMemory bounds the resident memory of website-apiserver, in bytes.
	maxMemory = 512 << 20
	// maxLatency bounds the 99th percentile of the writes of others.
	maxLatency = 2 * time.Second
	// maxStart bounds the time from the start of the process until it is ready.
	maxStart = 5 * time.Second
	// shortRun is the longest run that may share the machine with other tests; latency may be
	// shortRunFactor times as high in it.
	shortRun, shortRunFactor = 5 * time.Minute, 3
)

// TestLargeWrites writes the largest possible Website as a user with the role edit, at full speed
// and over many connections. Other users write meanwhile. The server is killed at the end, and no
// acknowledged write is lost.
func TestLargeWrites(t *testing.T) {
	ctx := t.Context()
	server := framework.Cluster.Process("website-apiserver")
	// The bound of its memory is for the default. Other tests run with a GOGC that takes less CPU time.
	t.Setenv("GOGC", "100")
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	victim, ordinary := framework.NewNamespace(t), framework.NewNamespace(t)
	attack := newAttack(t, victim)
	memory := &memoryWatch{pid: server.PID()}
	others := &ordinaryWrites{websites: framework.Websites(t, ordinary), namespace: ordinary, stored: map[string]string{}}

	running, stop := context.WithTimeout(ctx, *attackDuration)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() { memory.run(running) })
	for i := range attackers {
		group.Go(func() { attack.run(running, i) })
	}
	for i := range 2 {
		group.Go(func() { others.run(running, i) })
	}
	group.Wait()

	t.Logf("large writes: %d acknowledged, answers by code %v", attack.acknowledged.Load(), attack.answers())
	latencies := others.sorted()
	t.Logf("writes of others: %d, %d failed, median %s, 99th percentile %s, maximum %s", len(latencies), others.failed,
		percentile(latencies, 50), percentile(latencies, 99), percentile(latencies, 100))
	t.Logf("memory of website-apiserver: at most %d MiB resident, %d MiB of it anonymous", memory.resident>>20,
		memory.anonymous>>20)
	factor := time.Duration(1)
	if *attackDuration < shortRun {
		factor = shortRunFactor
	}
	if p := percentile(latencies, 99); p > maxLatency*factor {
		t.Errorf("99th percentile of the writes of others = %s, want at most %s", p, maxLatency*factor)
	}
	if others.failed > 0 {
		t.Errorf("%d writes of others failed, the last: %v", others.failed, others.last)
	}
	if memory.resident > maxMemory {
		t.Errorf("resident memory = %d MiB, want at most %d", memory.resident>>20, maxMemory>>20)
	}
	if attack.acknowledged.Load() == 0 {
		t.Error("no large write was acknowledged")
	}

	if err := server.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	var start time.Time
	// The memory and the port of a killed process are freed with a delay.
	framework.WaitFor(t, "the server is started", func(ctx context.Context) error {
		start = time.Now()
		return server.Start(ctx)
	})
	if err := server.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start).Round(time.Millisecond)
	t.Logf("ready %s after the start", took)
	if took > maxStart*factor {
		t.Errorf("the server was ready after %s, want at most %s", took, maxStart*factor)
	}
	framework.WaitFor(t, "the aggregator reaches website-apiserver again", func(ctx context.Context) error {
		_, err := others.websites.List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
	others.check(t)
	attack.check(t)
}

// attack writes one Website repeatedly.
type attack struct {
	config       *rest.Config
	namespace    string
	acknowledged atomic.Int32
	mu           sync.Mutex
	codes        map[int]int
	// version is the highest resource version that was acknowledged.
	version uint64
}

// newAttack creates the largest Website that a user with the role edit may write.
func newAttack(t *testing.T, namespace string) *attack {
	t.Helper()
	user := "attacker-" + namespace
	framework.Bind(t, namespace, user, "ClusterRole", "edit")
	config, err := framework.Cluster.UserConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	a := &attack{config: config, namespace: namespace, codes: map[int]int{}}
	websites := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace)
	framework.WaitFor(t, "the attacker may write", func(ctx context.Context) error {
		_, err := websites.Create(ctx, framework.NewWebsite(namespace, "large", framework.WithReplicas(0)),
			metav1.CreateOptions{})
		return err
	})
	if _, err := websites.Patch(t.Context(), "large", types.MergePatchType, largest(), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return a
}

// largest returns a patch that replaces all large fields.
func largest() []byte {
	text := func(n int) string {
		const letters = "abcdefghijklmnopqrstuvwxyz"
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[rand.IntN(len(letters))]
		}
		return string(b)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"metadata":{"annotations":{"a":%q},"labels":{`, text(255<<10))
	for i := range 450 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"l%d-%s":%q`, i, strings.Repeat("l", 50), text(60))
	}
	b.WriteString(`}},"spec":{"serving":{"redirects":[`)
	for i := range 2000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"from":"/%04d-%s","to":"/%s"}`, i, text(16), text(22))
	}
	b.WriteString(`]}}}`)
	return []byte(b.String())
}

func (a *attack) run(ctx context.Context, number int) {
	config := rest.CopyConfig(a.config)
	// client-go shares the connections of configurations without one.
	config.Dial = (&net.Dialer{}).DialContext
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return
	}
	url := fmt.Sprintf("%s/apis/%s/namespaces/%s/websites/large?fieldManager=m%d", config.Host, v1beta1.SchemeGroupVersion,
		a.namespace, number%3)
	full := largest()
	for i := 0; ctx.Err() == nil; i++ {
		target, body, contentType := url, full, types.MergePatchType
		switch {
		case i%4 == 0:
			full = largest()
			body = full
		case number%2 == 0: // A change of a few bytes stores the whole Website again.
			body = fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d-%d"}}}`, number, i)
		case number%3 == 0:
			target, contentType = url+"&force=true", types.ApplyPatchType
			body = append(fmt.Appendf(nil, `{"apiVersion":%q,"kind":"Website",`, v1beta1.SchemeGroupVersion), full[1:]...)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPatch, target, bytes.NewReader(body))
		if err != nil {
			return
		}
		request.Header.Set("Content-Type", string(contentType))
		response, err := client.Do(request)
		if err != nil {
			continue // The run has ended.
		}
		a.answered(response.StatusCode, resourceVersion(response))
	}
}

var resourceVersionPattern = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// resourceVersion returns the resource version of the Website in a response, or 0.
func resourceVersion(response *http.Response) uint64 {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	match := resourceVersionPattern.FindSubmatch(body)
	if err != nil || match == nil {
		return 0
	}
	version, err := strconv.ParseUint(string(match[1]), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

func (a *attack) answered(code int, version uint64) {
	if code == http.StatusOK {
		a.acknowledged.Add(1)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.codes[code]++
	a.version = max(a.version, version)
}

func (a *attack) answers() map[int]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.codes
}

// check reads the Website, which must have the last acknowledged version or a later one.
func (a *attack) check(t *testing.T) {
	t.Helper()
	w, err := framework.Websites(t, a.namespace).Get(t.Context(), "large", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	version, err := strconv.ParseUint(w.ResourceVersion, 10, 64)
	if err != nil || version < a.version {
		t.Errorf("the large Website has version %s, and %d was acknowledged", w.ResourceVersion, a.version)
	}
}

// memoryWatch records the highest memory use of a process.
type memoryWatch struct {
	pid                 int
	resident, anonymous int64
}

func (m *memoryWatch) run(ctx context.Context) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.pid))
			if err != nil {
				continue // The system is not Linux.
			}
			m.resident = max(m.resident, kilobytes(string(data), "VmRSS:"))
			m.anonymous = max(m.anonymous, kilobytes(string(data), "RssAnon:"))
		}
	}
}

func kilobytes(status, field string) int64 {
	_, rest, _ := strings.Cut(status, field)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n << 10
}

func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100].Round(time.Millisecond)
}
