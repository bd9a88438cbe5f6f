// Package requests is the protocol of website-controller and the agents of pods: the
// parameters of requests for /status, and the signatures of requests that change something.
//
// Every client that reaches a pod reaches its agent, and may read the network in between. So
// a signature holds for one pod, one request and one minute, and a request is harmless when it
// is repeated within that time.
package requests
