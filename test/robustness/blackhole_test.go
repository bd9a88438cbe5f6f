package robustness

import (
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/robustness/check"
	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// blackholeTime is the time during which packets are dropped: longer than kube-apiserver keeps a
// connection without received data.
const blackholeTime = 75 * time.Second

// TestBlackhole makes the kernel drop the packets of one server after the other, as for a failed
// node, and measures how long requests through kube-apiserver fail. nftables balances connections
// over the servers, as kube-proxy does, and leaves the failed one out at once, which is the best
// case in a cluster.
func TestBlackhole(t *testing.T) {
	if *replicaTime == 0 {
		t.Skip("-replica-time runs this test")
	}
	requireOwnNetwork(t)
	r := newReplicaRun(t)
	servers := framework.Cluster.WebsiteAPIServers()
	names := make([]string, 0, len(servers))
	ports := map[string]string{}
	for name, address := range servers {
		parsed, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		names, ports[name] = append(names, name), parsed.Port()
	}
	slices.Sort(names)
	service := servicePort(t)
	lead := func(targets ...string) {
		t.Helper()
		var choices []string
		for i, name := range targets {
			choices = append(choices, fmt.Sprintf("%d : %s", i, ports[name]))
		}
		nft(t, fmt.Sprintf(`table ip robustness {
	chain service {
		type nat hook output priority -100
	}
}
flush chain ip robustness service
add rule ip robustness service tcp dport %d dnat to 127.0.0.1 : numgen random mod %d map { %s }
`, service, len(targets), strings.Join(choices, ", ")))
	}
	lead(names...)
	t.Cleanup(func() { nft(t, "delete table ip robustness\n") })
	for _, name := range names {
		// New connections bypass the balancer.
		lead(names...)
		if err := r.restartWith(); err != nil {
			t.Fatal(err)
		}
		r.calm(calmTime())
		start := r.recorder.Now()
		nft(t, fmt.Sprintf(`table ip robustness {
	chain blackhole {
		type filter hook input priority 0
		tcp dport %[1]s drop
		tcp sport %[1]s drop
	}
}
`, ports[name]))
		lead(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })...)
		r.calm(blackholeTime)
		nft(t, "delete chain ip robustness blackhole\n")
		end := r.recorder.Now()
		h := r.recorder.History()
		h.Operations = slices.DeleteFunc(h.Operations,
			func(o history.Operation) bool { return o.Call < start || o.Call > end })
		outage, failed := h.Outage(start, end, nil)
		t.Logf("%s is gone: %d requests failed, within %s; %v", name, failed, outage.Round(time.Millisecond), failures(h))
		r.waitReady()
	}
	for _, v := range check.Run(r.finish()) {
		t.Errorf("%s", v)
	}
}

// requireOwnNetwork skips a test that changes the rules of its network namespace, unless it has one
// of its own.
func requireOwnNetwork(t *testing.T) {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if len(interfaces) != 1 {
		t.Skip(`packets are dropped in a network namespace only: run "unshare --net" as root, then "ip link set lo up", ` +
			`then this test`)
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skipf("packets are dropped by nft: %v", err)
	}
}

func nft(t *testing.T, rules string) {
	t.Helper()
	command := exec.Command("nft", "-f", "-")
	command.Stdin = strings.NewReader(rules)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v: %s%s", err, output, rules)
	}
}

// servicePort returns the port that kube-apiserver connects to.
func servicePort(t *testing.T) int32 {
	t.Helper()
	client, err := aggregator.NewForConfig(framework.AdminConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	name := v1beta1.SchemeGroupVersion.Version + "." + v1beta1.GroupName
	registered, err := client.ApiregistrationV1().APIServices().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return *registered.Spec.Service.Port
}
