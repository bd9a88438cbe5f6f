// Package requests is what website-controller and the agents of pods agree on: the
// parameters of requests for /status, and the signatures of those that change something.
//
// An agent is reached by whoever reaches its pod, and the network in between may be read. So
// a signature holds for one pod, one request and one minute, and what a request asks for is
// harmless when it is repeated within that time.
package requests
