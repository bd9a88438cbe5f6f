package resources

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/responseheaders"
)

const (
	// accessSecretVolume is the Secret with the readers of a site, for the agent, and accessVolume
	// has the password file that the agent writes for nginx.
	accessSecretVolume    = "access-secret"
	accessSecretMountPath = "/etc/access-secret"
	accessVolume          = "access"
	accessMountPath       = "/access"
	accessFile            = accessMountPath + "/users"
	// accessSize is enough for the largest file twice.
	accessSize = "1Mi"
)

// isProtected reports whether only the users in a Secret may read a site.
func isProtected(website *v1beta1.Website) bool { return website.Spec.Access.BasicAuth != nil }

// usersFile is the path of the password file of nginx.
func usersFile(website *v1beta1.Website) string {
	if !isProtected(website) {
		return ""
	}
	return accessFile
}

// protection gives the agent the Secret with the users, whose keys are all optional, and nginx the
// password file that the agent writes. A pod starts without the Secret, and rejects every request.
func protection(website *v1beta1.Website) (c concern) {
	if !isProtected(website) {
		return c
	}
	c.args.add("access-secret", accessSecretMountPath)
	c.args.add("access-file", accessFile)
	secret := secretVolume(accessSecretVolume, website.Spec.Access.BasicAuth.SecretRef.Name,
		access.UsernameKey, access.PasswordKey, access.HtpasswdKey)
	secret.Secret.WithOptional(true)
	c.mount(secret, accessSecretMountPath)
	file := emptyDir(accessVolume, resource.MustParse(accessSize))
	file.EmptyDir.WithMedium(corev1.StorageMediumMemory)
	c.volumes = append(c.volumes, file)
	c.agentMounts = append(c.agentMounts, corev1ac.VolumeMount().WithName(accessVolume).WithMountPath(accessMountPath))
	// The directory is mounted, because a file that is mounted itself would never change.
	c.nginxMounts = append(c.nginxMounts,
		corev1ac.VolumeMount().WithName(accessVolume).WithMountPath(accessMountPath).WithReadOnly(true))
	return c
}

// privateHeaders returns the headers of a protected site. A shared cache must not store its pages,
// despite the rules of the site: it would send them to everyone.
func privateHeaders(headers []v1beta1.ResponseHeader) []v1beta1.ResponseHeader {
	headers = slices.Clone(headers)
	for i := range headers {
		switch strings.ToLower(headers[i].Name) {
		case "cache-control":
			headers[i].Value = privateCaching(headers[i].Value)
		case "x-accel-expires":
			headers[i].Value = "0"
		default:
			if responseheaders.IsForSharedCaches(headers[i].Name) {
				headers[i].Value = "no-store"
			}
		}
	}
	return headers
}

// privateCaching returns a value of Cache-Control for browsers only.
func privateCaching(value string) string {
	directives := []string{"private"}
	for directive := range strings.SplitSeq(value, ",") {
		directive = strings.TrimSpace(directive)
		switch name, _, _ := strings.Cut(strings.ToLower(directive), "="); name {
		case "", "public", "private", "s-maxage":
		default:
			directives = append(directives, directive)
		}
	}
	return strings.Join(directives, ", ")
}
