// Package servingcert keeps the serving certificate of website-apiserver, and the CA that
// signs it, in a Secret that all replicas share.
//
// A replica that finds something due writes the next step into the Secret; the resource
// version decides between two that try. The CA is rotated in an order in which clients
// trust the certificate that is served at every moment: a new CA joins the bundle, then it
// signs the serving certificate, then the old CA leaves the bundle.
package servingcert
