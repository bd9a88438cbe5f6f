// Package app is the command website-controller: its flags turned into clients,
// informers, a secure port and leader election, in the order in which they
// start and the reverse order in which they stop.
package app
