// Package access makes the file of users that nginx reads from the Secret of
// spec.access.basicAuth.secretRef. The content of the Secret is neither logged nor reported.
package access
