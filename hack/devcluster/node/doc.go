// Package node isolates containers from the rest of this machine, and removes every trace
// of them afterwards.
//
// A node is three namespaces: a network namespace, connected to the host by a veth pair; a
// mount namespace, so that no mount of a pod is in the host's mount table; and a PID
// namespace, whose first process is Init. When Init ends, the kernel kills all other
// processes of the node and removes its network, rules and mounts. Only the cgroups of the
// pods remain (RemoveCgroups).
//
// No rule, setting or file of the host changes: the host's side of the pair has an address
// and a route, which are removed with it.
package node
