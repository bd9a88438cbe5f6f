package resources

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// accessSecretVolume is the Secret with the users who may read a site, for the agent, and
	// accessVolume has the file that it makes of it for nginx.
	accessSecretVolume    = "access-secret"
	accessSecretMountPath = "/etc/access-secret"
	accessVolume          = "access"
	accessMountPath       = "/access"
	accessFile            = accessMountPath + "/users"
	// accessSize is enough for the largest file twice.
	accessSize = "1Mi"
)

// isProtected reports whether only the users of a Secret may read a site.
func isProtected(website *v1beta1.Website) bool { return website.Spec.Access.BasicAuth != nil }

// usersFile is where nginx reads who may read a site.
func usersFile(website *v1beta1.Website) string {
	if !isProtected(website) {
		return ""
	}
	return accessFile
}

// addAccess adds the flags of the agent for the users.
func addAccess(args *arguments, website *v1beta1.Website) {
	if isProtected(website) {
		args.add("access-secret", accessSecretMountPath)
		args.add("access-file", accessFile)
	}
}

// accessVolumes are the Secret, of which each key may be missing, and the file. A pod starts
// without the Secret, and rejects every request.
func accessVolumes(website *v1beta1.Website) []*corev1ac.VolumeApplyConfiguration {
	if !isProtected(website) {
		return nil
	}
	secret := corev1ac.SecretVolumeSource().WithSecretName(website.Spec.Access.BasicAuth.SecretRef.Name).
		WithDefaultMode(secretMode).WithOptional(true)
	for _, key := range []string{access.UsernameKey, access.PasswordKey, access.HtpasswdKey} {
		secret.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
	}
	file := emptyDir(accessVolume, resource.MustParse(accessSize))
	file.EmptyDir.WithMedium(corev1.StorageMediumMemory)
	return []*corev1ac.VolumeApplyConfiguration{corev1ac.Volume().WithName(accessSecretVolume).WithSecret(secret), file}
}

// accessMounts give the agent, in the container of git-sync, the Secret and the directory of
// the file.
func accessMounts(website *v1beta1.Website) []*corev1ac.VolumeMountApplyConfiguration {
	if !isProtected(website) {
		return nil
	}
	return []*corev1ac.VolumeMountApplyConfiguration{
		corev1ac.VolumeMount().WithName(accessSecretVolume).WithMountPath(accessSecretMountPath).WithReadOnly(true),
		corev1ac.VolumeMount().WithName(accessVolume).WithMountPath(accessMountPath),
	}
}

// usersMounts give nginx the directory of the file: a file that is mounted itself would never
// change.
func usersMounts(website *v1beta1.Website) []*corev1ac.VolumeMountApplyConfiguration {
	if !isProtected(website) {
		return nil
	}
	return []*corev1ac.VolumeMountApplyConfiguration{
		corev1ac.VolumeMount().WithName(accessVolume).WithMountPath(accessMountPath).WithReadOnly(true),
	}
}

// privateHeaders returns the headers of a protected site. A shared cache must not keep its
// pages, whatever the rules of the site say: it would give them to everyone.
func privateHeaders(headers []v1beta1.ResponseHeader) []v1beta1.ResponseHeader {
	headers = slices.Clone(headers)
	for i := range headers {
		switch strings.ToLower(headers[i].Name) {
		case "cache-control":
			headers[i].Value = privateCaching(headers[i].Value)
		case "x-accel-expires":
			headers[i].Value = "0"
		default:
			if isForSharedCaches(headers[i].Name) {
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
