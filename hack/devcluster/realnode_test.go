package devcluster

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

var testAddresses = node.Addresses{Pair: "10.200.0.0/30", Pods: "10.200.1.0/24"}

func TestNodeFiles(t *testing.T) {
	l := layout{dir: filepath.Join(t.TempDir(), `odd "name" \ 'x'`)}
	if err := l.make(); err != nil {
		t.Fatal(err)
	}
	s := settings{Node: testAddresses}
	programs := programs{containerd: "/cache/containerd"}
	if err := writeNodeFiles(l, s, programs, 0); err != nil {
		t.Fatal(err)
	}
	credentials, err := os.ReadFile(l.gitCredentials())
	if err != nil {
		t.Fatal(err)
	}
	if err := writeNodeFiles(l, s, programs, 0); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(l.gitCredentials()); err != nil || string(again) != string(credentials) {
		t.Errorf("the second Up changed the git server's credentials (%v)", err)
	}
	read := func(name string) map[string]any {
		data, err := os.ReadFile(l.nodeFile(name))
		if err != nil {
			t.Fatal(err)
		}
		content := map[string]any{}
		if err := yaml.UnmarshalStrict(data, &content); err != nil {
			t.Errorf("%s: %v:\n%s", name, err, data)
		}
		return content
	}
	if config := read(kubeletConfig); config["address"] != "10.200.0.2" || config["failCgroupV1"] != false ||
		config["cgroupRoot"] != "/"+nodeCgroup(l) || config["tlsCertFile"] != l.cert(kubelet) {
		t.Errorf("kubelet: %v", config)
	}
	const disk = 1 << 30
	if err := writeNodeFiles(l, s, programs, disk); err != nil {
		t.Fatal(err)
	}
	size, err := node.DiskSize(l.kubeletData())
	if err != nil {
		t.Fatal(err)
	}
	reserved := map[string]any{"ephemeral-storage": strconv.FormatUint(size-min(size, disk), 10)}
	if got := read(kubeletConfig)["systemReserved"]; !reflect.DeepEqual(got, reserved) {
		t.Errorf("of a disk of %d bytes the kubelet reserves %v, want %v", size, got, reserved)
	}
	if config := read(kubeProxyConfig); config["mode"] != "nftables" || config["clusterCIDR"] != "10.200.1.0/24" {
		t.Errorf("kube-proxy: %v", config)
	}
	if data, err := os.ReadFile(l.nodeFile(cniConfig)); err != nil || !json.Valid(data) {
		t.Errorf("CNI: %s (%v)", data, err)
	}
}

func TestNodeNamesFitTheKernel(t *testing.T) {
	l := layout{dir: "/somewhere"}
	if name := nodeLink(l, settings{}).Name; len(name) > 15 ||
		name == nodeLink(layout{dir: "/elsewhere"}, settings{}).Name {
		t.Errorf("the interface is called %q", name)
	}
}

// Every machine rejects a node for a state directory that is hidden in the node.
func TestAutoFallsBack(t *testing.T) {
	l := layout{dir: "/run/devcluster-test"}
	var said strings.Builder
	mode, err := NodeAuto.resolve(t.Context(), l, newProgress(&said))
	if err != nil || mode != NodeSimulated || !strings.Contains(said.String(), "node: simulated") ||
		!strings.Contains(said.String(), "not possible: ") {
		t.Errorf("auto = %s, %v, said %q", mode, err, said.String())
	}
	if _, err := NodeReal.resolve(t.Context(), l, newProgress(&said)); !errors.Is(err, ErrUnsuitable) {
		t.Errorf("real: %v, want ErrUnsuitable", err)
	}
	if mode, err := NodeSimulated.resolve(t.Context(), l, newProgress(&said)); err != nil || mode != NodeSimulated {
		t.Errorf("simulated = %s, %v", mode, err)
	}
}

func TestNodeDependsOnTheMode(t *testing.T) {
	for mode, want := range map[NodeMode]string{NodeReal: realNode, NodeSimulated: simulatedNode} {
		if got := nodeName(mode); got != want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
	}
	p := &plan{layout: layout{dir: t.TempDir()}, programs: programs{}, settings: settings{Node: testAddresses}}
	for _, mode := range []NodeMode{NodeReal, NodeSimulated} {
		p.options.Node = mode
		reaches := slices.ContainsFunc(p.kubeAPIServer(kubeAPIServer, p.settings.Ports.APIServer).args,
			func(arg string) bool { return strings.HasPrefix(arg, "--kubelet-client-certificate=") })
		if reaches != (mode == NodeReal) {
			t.Errorf("%s: kube-apiserver knows the kubelet: %t", mode, reaches)
		}
	}
}

func TestStopOrderOfStages(t *testing.T) {
	for name, options := range map[string]Options{
		"real node":      {Node: NodeReal, Gateway: true},
		"simulated node": {Node: NodeSimulated, ExternalEtcd: true},
	} {
		c := &Cluster{plan: &plan{layout: layout{dir: t.TempDir()}, programs: programs{}, options: options,
			settings: settings{Node: testAddresses}, check: &checker{}}}
		var names []string
		for _, s := range c.stages().all() {
			names = append(names, s.name)
			if !slices.Contains(startOrder, s.name) {
				t.Errorf("%s: %s has no place in the order", name, s.name)
			}
		}
		if order := stopOrder(names); slices.Index(order, kubeAPIServer) < slices.Index(order, nodeInit) {
			t.Errorf("%s: kube-apiserver stops before its clients on the node: %v", name, order)
		}
	}
}

func TestArchiveIsNamedByItsInputs(t *testing.T) {
	repo := t.TempDir()
	if err := os.Mkdir(filepath.Join(repo, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(repo, "bin", pauseStandIn)
	writeTestFile(t, program, "one")
	p := &plan{options: Options{RepoDir: repo, CacheDir: t.TempDir()}}
	first, err := recipes[0].archive(p)
	if err != nil || !strings.HasPrefix(filepath.Base(first), "pause-standin-") {
		t.Fatalf("archive = %s, %v", first, err)
	}
	writeTestFile(t, program, "two")
	if second, err := recipes[0].archive(p); err != nil || second == first {
		t.Errorf("another program, the same archive %s (%v)", second, err)
	}
}

func TestPruneArchives(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	used, recent, old, other := filepath.Join(dir, "used.tar"), filepath.Join(dir, "recent.tar"),
		filepath.Join(dir, "old.tar"), filepath.Join(dir, "notes")
	for path, age := range map[string]time.Duration{used: 2 * archiveAge, recent: archiveAge / 2, old: 2 * archiveAge,
		other: 2 * archiveAge} {
		writeTestFile(t, path, "")
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := pruneArchives(used, now); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if want := []string{other, recent, used}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left in the cache: %v (%v), want %v", left, err, want)
	}
}

func TestRegistryAnswers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := registryAnswers(t.Context(), address); err != nil {
		t.Errorf("a registry that answers: %v", err)
	}
	_ = listener.Close()
	if err := registryAnswers(t.Context(), address); err == nil {
		t.Error("no server listens, and yet it answers")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if err := registryAnswers(ctx, address); err == nil {
		t.Error("no time left, and yet it answers")
	}
}
