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
	// httpIPv6Key and adminIPv6Key are included if the kernel supports IPv6.
	httpIPv6Key  = "http-ipv6.conf"
	adminIPv6Key = "admin-ipv6.conf"
)

// ConfigMap builds the ConfigMap with the nginx configuration of a Website from NginxConfig. It is
// immutable, and its name contains a hash of its content: a pod never starts with the configuration
// of another revision.
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

// configHashes are the hashes of the last configurations, by keys that are cheaper to compute and
// need no copy. Sites with the same spec have the same configuration.
var (
	configHashes   = lru.New(1000)
	configHashSeed = maphash.MakeSeed()
)

// configHash returns the hash of configFiles.
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
