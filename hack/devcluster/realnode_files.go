package devcluster

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// Names of files in the node's directory.
const (
	containerdConfig = "containerd.toml"
	kubeletConfig    = "kubelet.yaml"
	kubeProxyConfig  = "kube-proxy.yaml"
	resolverConfig   = "resolv.conf"
	cniDirectory     = "cni"
	cniConfig        = cniDirectory + "/10-devcluster.conflist"
)

// nodeFiles are templates, because each reads best in its program's own language. JSON
// strings are strings in YAML and TOML as well.
var nodeFiles = map[string]string{
	containerdConfig: `version = 3
root = {{.ContainerdData | quote}}
state = "/run/containerd"
imports = []
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt", "io.containerd.internal.v1.restart"]

[grpc]
address = {{.Socket | quote}}

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = {{.PauseImage | quote}}

[plugins."io.containerd.cri.v1.runtime"]
# Where the right is missing to make a process less likely to be killed than its parent.
restrict_oom_score_adj = true

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = [{{.PluginDirectory | quote}}]
conf_dir = {{.CNIDirectory | quote}}
use_internal_loopback = true
`,
	// Pods are routed, not bridged, and the host has a route to them: masquerading is not needed.
	cniConfig: `{
  "cniVersion": "1.0.0",
  "name": "devcluster",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni",
        "ranges": [[{"subnet": {{.Pods | quote}}}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}, "backend": "nftables", "snat": true}
  ]
}
`,
	kubeletConfig: `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {{.Address | quote}}
port: {{.KubeletPort}}
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: {{.ClientCA | quote}}}
authorization: {mode: Webhook}
tlsCertFile: {{.Cert | quote}}
tlsPrivateKeyFile: {{.Key | quote}}
containerRuntimeEndpoint: {{printf "unix://%s" .Socket | quote}}
cgroupDriver: cgroupfs
cgroupRoot: {{printf "/%s" .Cgroup | quote}}
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
podLogsDir: {{.PodLogs | quote}}
volumePluginDir: {{.VolumePlugins | quote}}
resolvConf: {{.Resolver | quote}}
clusterDNS: [{{.Host | quote}}]
clusterDomain: {{.ClusterDomain}}
serializeImagePulls: false
# A pod that fills its volumes is found out within seconds, not minutes.
volumeStatsAggPeriod: 10s
# So is a Secret that has changed.
syncFrequency: 3s
# Images may have been imported and cannot be pulled again; a full disk of the developer's
# is no reason to evict.
imageGCHighThresholdPercent: 100
systemReserved: {ephemeral-storage: "{{.ReservedDisk}}"}
evictionHard: {memory.available: 100Mi, nodefs.available: 0%, nodefs.inodesFree: 0%,
  imagefs.available: 0%, imagefs.inodesFree: 0%}
`,
	kubeProxyConfig: `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
bindAddress: {{.Address | quote}}
healthzBindAddress: {{printf "%s:%d" .Address .KubeProxyPort | quote}}
metricsBindAddress: 127.0.0.1:10249
clientConnection: {kubeconfig: {{.ProxyKubeconfig | quote}}}
clusterCIDR: {{.Pods | quote}}
# Limits of connection tracking are the machine's, not the node's.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`,
	corefile: corefileTemplate,
	// Pods that do not use the cluster's DNS have none: queries fail at once.
	resolverConfig: `nameserver 127.0.0.1
options timeout:1 attempts:1
`,
}

// nodeParameters are the input of the templates.
type nodeParameters struct {
	ContainerdData, Socket, PauseImage, PluginDirectory, CNIDirectory string
	Address, Host, Pods, Cgroup                                       string
	KubeletPort, KubeProxyPort                                        int
	ReservedDisk                                                      uint64
	ClientCA, Cert, Key                                               string
	PodLogs, VolumePlugins, Resolver, ProxyKubeconfig                 string
	ClusterDomain, CoreDNSReadyPort, DNSKubeconfig, HostDomain        string
}

// writeNodeFiles writes the configuration of the node's programs. disk is Options.NodeDisk.
func writeNodeFiles(l layout, s settings, programs programs, disk uint64) error {
	parameters := nodeParameters{
		ContainerdData: l.containerdData(), Socket: containerdSocket, PauseImage: pauseImage,
		PluginDirectory: filepath.Dir(programs[containerd]), CNIDirectory: l.nodeFile(cniDirectory),
		Address: s.Node.Node(), Host: s.Node.Host(), Pods: s.Node.Pods, Cgroup: nodeCgroup(l),
		KubeletPort: kubeletPort, KubeProxyPort: kubeProxyPort,
		ClientCA: l.cert(clusterCA), Cert: l.cert(kubelet), Key: l.key(kubelet),
		PodLogs: l.nodeFile("pod-logs"), VolumePlugins: l.nodeFile("volume-plugins"), Resolver: l.nodeFile(resolverConfig),
		ProxyKubeconfig: l.kubeconfig(kubeProxy),
		ClusterDomain:   clusterDomain, CoreDNSReadyPort: coreDNSReadyPort, DNSKubeconfig: l.kubeconfig(coreDNS),
		HostDomain: HostDomain,
	}
	for _, dir := range []string{l.node(), l.nodeFile(cniDirectory), l.containerdData(), l.kubeletData(), l.git()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("creating the node's directories: %w", err)
		}
	}
	if disk > 0 {
		size, err := node.DiskSize(l.kubeletData())
		if err != nil {
			return fmt.Errorf("limiting the disk of the node: %w", err)
		}
		parameters.ReservedDisk = size - min(size, disk)
	}
	for name, text := range nodeFiles {
		data, err := parameters.render(name, text)
		if err != nil {
			return err
		}
		if err := writeFile(l.nodeFile(name), data, 0o600); err != nil {
			return err
		}
	}
	return ensureGitCredentials(l)
}

func (p nodeParameters) render(name, text string) ([]byte, error) {
	quote := func(s string) (string, error) {
		data, err := json.Marshal(s)
		return string(data), err
	}
	t, err := template.New(name).Funcs(template.FuncMap{"quote": quote}).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parsing the template of %s: %w", name, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("filling in %s: %w", name, err)
	}
	return []byte(b.String()), nil
}

// ensureGitCredentials generates the user and password of private repositories.
func ensureGitCredentials(l layout) error {
	if _, err := os.Stat(l.gitCredentials()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return writeFile(l.gitCredentials(), []byte("devcluster:"+rand.Text()+"\n"), 0o600)
}

// systemPath returns a PATH with the directories of administrators' programs, which sudo
// and some shells leave out.
func systemPath(first ...string) string {
	dirs := append(first, os.Getenv("PATH"), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")
	return "PATH=" + strings.Join(dirs, string(os.PathListSeparator))
}
