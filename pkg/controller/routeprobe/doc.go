// Package routeprobe requests the hosts of Websites at the address of the Gateway or Ingress
// that routes them, as a browser would: it finds which commit is served, when the
// certificate expires, and whether the names lead there. A host name never decides where a
// request goes.
package routeprobe
