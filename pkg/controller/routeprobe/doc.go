// Package routeprobe requests the hosts of Websites at the address of the Gateway or Ingress that
// routes them, as a browser would: it observes which commit is served, when the certificate expires,
// and whether the names resolve there. A host name never determines the destination of a request.
package routeprobe
