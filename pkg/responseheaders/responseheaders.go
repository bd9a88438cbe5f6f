// Package responseheaders classifies headers of spec.serving, for the server and the controller.
package responseheaders

import "strings"

// IsForSharedCaches reports whether a header tells only proxies how long to keep an answer: one of RFC 9213,
// such as CDN-Cache-Control or a vendor's, or an older one.
func IsForSharedCaches(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "cdn-cache-control") || name == "surrogate-control" || name == "edge-control" ||
		name == "x-accel-expires"
}

// IsForCaches reports whether a header tells browsers or proxies how long to keep an answer.
func IsForCaches(name string) bool {
	return strings.EqualFold(name, "cache-control") || strings.EqualFold(name, "expires") || IsForSharedCaches(name)
}
