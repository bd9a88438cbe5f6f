// Package servingcert keeps the serving certificate of website-apiserver, and the CA that
// signs it, in a Secret that all replicas share.
//
// A replica that finds a due step writes it into the Secret; the resource version decides
// between two concurrent writes. The CA is rotated in an order in which clients trust the
// served certificate at every moment: a new CA joins the bundle, then it signs the serving
// certificate, then the old CA leaves the bundle.
package servingcert
