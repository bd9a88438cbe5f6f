package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/lru"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// The keys of the ConfigMap are the names of the files in the container.
const (
	// nginxConfigKey is the configuration.
	nginxConfigKey = "nginx.conf"
	// httpIPv6Key and adminIPv6Key are included where the kernel has IPv6.
	httpIPv6Key  = "http-ipv6.conf"
	adminIPv6Key = "admin-ipv6.conf"
)

// ConfigMap builds the ConfigMap with the nginx configuration of a Website, which is
// what NginxConfig returned for it. It is immutable, and its name follows from its
// content: a pod never starts with the configuration of another revision.
func ConfigMap(website *v1beta1.Website, nginxConfig string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(ConfigMapName(website, nginxConfig), website.Namespace).
		WithLabels(supportLabels(website)).
		WithOwnerReferences(ownerReference(website)).
		WithImmutable(true).
		WithData(configFiles(nginxConfig))
}

// configFiles are the files in the container, by name.
func configFiles(nginxConfig string) map[string]string {
	return map[string]string{
		nginxConfigKey: nginxConfig,
		httpIPv6Key:    listenIPv6(httpPort),
		adminIPv6Key:   listenIPv6(adminPort),
	}
}

// configHashes are those of the last configurations, by what is quicker to compute and needs no copy. Sites of
// one spec have one configuration.
var (
	configHashes   = lru.New(1000)
	configHashSeed = maphash.MakeSeed()
)

// configHash names configFiles.
func configHash(nginxConfig string) string {
	key := maphash.String(configHashSeed, nginxConfig)
	if known, ok := configHashes.Get(key); ok {
		return known.(string)
	}
	hash := hashFiles(configFiles(nginxConfig))
	configHashes.Add(key, hash)
	return hash
}

func hashFiles(files map[string]string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%q %q\n", name, files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))[:configHashLength]
}
