package devcluster

import (
	"slices"
	"strings"
	"testing"
)

func TestStoreOfWebsites(t *testing.T) {
	l := layout{dir: "/state"}
	external := []string{
		"--etcd-servers=https://127.0.0.1:7010", "--etcd-cafile=/state/pki/website-etcd-ca.crt",
		"--etcd-certfile=/state/pki/website-etcd-client.crt", "--etcd-keyfile=/state/pki/website-etcd-client.key",
	}
	tests := map[string]struct {
		external bool
		extra    []string
		want     []string
	}{
		"embedded":      {want: []string{"--data-dir=/state/w"}},
		"external":      {external: true, want: external},
		"another":       {extra: []string{"--etcd-servers=unix:///other"}, want: []string{"--etcd-servers=unix:///other"}},
		"another still": {external: true, extra: []string{"--etcd-servers=unix:///other"}, want: []string{"--etcd-servers=unix:///other"}},
		"other prefix":  {external: true, extra: []string{"--etcd-prefix=/other"}, want: append(slices.Clone(external), "--etcd-prefix=/other")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &plan{layout: l, options: Options{ExternalEtcd: test.external}, settings: settings{Ports: DefaultPorts(7000), WebsiteData: "/state/w"}}
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
