// Package node gives containers a place of their own on this machine, and takes it away
// again without a trace.
//
// The place is three namespaces of the kernel: a network of its own, joined to the host by
// a pair of virtual interfaces; mounts of its own, so that nothing of a pod shows up in the
// host's mount table; and processes of its own, whose first one (Init) is all that keeps
// them alive. When that one ends, however it ends, the kernel kills every other process of
// the place and drops the network, its rules, the pair and the mounts. What is left to
// remove are the cgroups of the pods (RemoveCgroups).
//
// Nothing here changes rules, settings or files of the host: the pair's host side gets an
// address and a route, both of which go with it.
package node
