package devcluster

import (
	"slices"
	"strings"
	"testing"
)

func TestStoreOfWebsites(t *testing.T) {
	l := layout{dir: "/state"}
	external := []string{
		"--etcd-servers=https://127.0.0.1:7010", "--etcd-cafile=/state/pki/etcd-ca.crt",
		"--etcd-certfile=/state/pki/etcd-client.crt", "--etcd-keyfile=/state/pki/etcd-client.key",
	}
	tests := map[string]struct {
		external bool
		extra    []string
		want     []string
	}{
		"embedded": {want: []string{"--data-dir=/state/w"}},
		"external": {external: true, want: external},
		"another":  {extra: []string{"--etcd-servers=unix:///other"}, want: []string{"--etcd-servers=unix:///other"}},
		"another still": {external: true, extra: []string{"--etcd-servers=unix:///other"},
			want: []string{"--etcd-servers=unix:///other"}},
		"other prefix": {external: true, extra: []string{"--etcd-prefix=/other"},
			want: append(slices.Clone(external), "--etcd-prefix=/other")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &plan{layout: l, options: Options{ExternalEtcd: test.external},
				settings: settings{Ports: DefaultPorts(7000), WebsiteData: "/state/w"}}
			var got []string
			for _, arg := range p.websiteAPIServer(websiteAPIServer, 1, test.extra...).args {
				if strings.HasPrefix(arg, "--etcd-") || strings.HasPrefix(arg, "--data-dir=") {
					got = append(got, arg)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("flags of the store = %v, want %v", got, test.want)
			}
		})
	}
}

func TestReplicas(t *testing.T) {
	p := &plan{
		layout: layout{dir: "/state"}, options: Options{ExternalEtcd: true, APIServerArgs: []string{"--goaway-chance=0.01"}},
		settings: settings{Ports: DefaultPorts(7000)}, check: &checker{},
		replicas: replicas{etcd: []etcdPorts{{8000, 8001}}, servers: []int{8002}, service: 8003},
	}
	tests := map[string]struct {
		specs []spec
		want  map[string]string
	}{
		"members of etcd": {
			specs: p.websiteEtcd(),
			want: map[string]string{
				"website-etcd": "--name=website-etcd --data-dir=/state/website-etcd " +
					"--initial-cluster=website-etcd=https://127.0.0.1:7011,website-etcd-2=https://127.0.0.1:8001",
				"website-etcd-2": "--name=website-etcd-2 --data-dir=/state/website-etcd-replicas/website-etcd-2 " +
					"--initial-cluster=website-etcd=https://127.0.0.1:7011,website-etcd-2=https://127.0.0.1:8001",
			},
		},
		"servers": {
			specs: p.websiteAPIServers(),
			want: map[string]string{
				"website-apiserver": "--secure-port=7001 --etcd-servers=https://127.0.0.1:7010,https://127.0.0.1:8000 " +
					"--goaway-chance=0.01",
				"website-apiserver-2": "--secure-port=8002 --etcd-servers=https://127.0.0.1:7010,https://127.0.0.1:8000 " +
					"--goaway-chance=0.01",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if len(test.specs) != len(test.want) {
				t.Fatalf("%d processes, want %d", len(test.specs), len(test.want))
			}
			for _, s := range test.specs {
				for _, arg := range strings.Fields(test.want[s.name]) {
					if !slices.Contains(s.args, arg) {
						t.Errorf("%s lacks %s: %v", s.name, arg, s.args)
					}
				}
			}
		})
	}
	if got := stopOrder([]string{"website-etcd", "website-etcd-2", "website-apiserver-2", "website-apiserver",
		"etcd"}); got[0] != "website-apiserver" || got[1] != "website-apiserver-2" || got[4] != "etcd" {
		t.Errorf("stopped in the order %v, want the servers first", got)
	}
}
