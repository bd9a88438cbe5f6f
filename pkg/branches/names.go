package branches

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	// maxName is the length of the longest deploymentName, which is also the name of a
	// preview.
	maxName = 57
	// maxLabel is the length of the longest label of a DNS name.
	maxLabel = 63
	// hashLength is the number of characters of a hash in a name.
	hashLength = 8
)

var (
	// others are the characters that a name cannot have, and runs of hyphens: labels with
	// two in the third place are reserved.
	others = regexp.MustCompile(`[^a-z0-9]+`)
	// hashed matches names with a hash, or that look as if they had one.
	hashed = regexp.MustCompile(`(?:^|-)[0-9a-f]{8}$`)
)

// PreviewName returns the name of the Website that is the preview of a branch: two branches
// of a Website have the same one only if their hashes are the same. Names of two Websites
// can lead to the same one.
func PreviewName(website, branch string) string { return name(website+"-", branch, maxName) }

// DeploymentName returns the deploymentName of a preview. Unlike the name of a Website, it
// must not begin with a digit.
func DeploymentName(website, branch string) string {
	if website != "" && website[0] >= '0' && website[0] <= '9' {
		website = "w-" + website
	}
	return PreviewName(website, branch)
}

// Host returns the host of the preview of a branch.
func Host(website, branch, domain string) string {
	return name("", branch, maxLabel) + "." + website + "." + domain
}

// AllHosts returns the wildcard for the hosts of all previews of a Website.
func AllHosts(website, domain string) string { return "*." + website + "." + domain }

// HostDomain returns the domain of a host of a preview of a Website. It reports false if
// the host is not one.
func HostDomain(website, host string) (domain string, ok bool) {
	label, rest, _ := strings.Cut(host, ".")
	domain, ok = strings.CutPrefix(rest, website+".")
	return domain, ok && label != "" && label != "*" && domain != ""
}

// name returns a name with a prefix for a branch. It has a hash of both if they are not in
// it as they are, and no name without a hash looks as if it had one.
func name(prefix, branch string, length int) string {
	slug := strings.Trim(others.ReplaceAllString(strings.ToLower(branch), "-"), "-")
	whole := prefix + slug
	if slug == branch && len(whole) <= length && !hashed.MatchString(slug) {
		return whole
	}
	sum := sha256.Sum256([]byte(prefix + branch))
	hash := hex.EncodeToString(sum[:])[:hashLength]
	room := min(len(whole), length-hashLength-1)
	return strings.TrimLeft(strings.TrimRight(whole[:room], "-")+"-"+hash, "-")
}
