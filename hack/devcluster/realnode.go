package devcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

const (
	// realNode is the name of the real node.
	realNode = "devcluster-node"
	// The names of a node's kernel objects are these prefixes and the node's id.
	linkPrefix, cgroupPrefix = "dc-", "devcluster-"
)

// nodeID identifies a node in the names of its kernel objects. It depends on the state
// directory alone, so that the objects of an interrupted command are found.
func nodeID(l layout) string {
	sum := sha256.Sum256([]byte(l.dir))
	return hex.EncodeToString(sum[:4])
}

// nodeLink is the pair of interfaces between the node and the host.
func nodeLink(l layout, s settings) node.Link {
	return node.Link{Name: linkPrefix + nodeID(l), Addresses: s.Node, Services: serviceRange}
}

// nodeCgroup is the cgroup of all pods.
func nodeCgroup(l layout) string { return cgroupPrefix + nodeID(l) }

// removeStaleNodes removes the cgroups of clusters that ended without Stop or Down, such as
// clusters of killed tests. A running node has its link before its cgroups.
func removeStaleNodes() error {
	return node.RemoveStaleCgroups(cgroupPrefix, func(id string) bool { return node.Link{Name: linkPrefix + id}.Exists() })
}

// chooseNodeAddresses keeps the cluster's addresses unless this machine uses them elsewhere.
func (s *settings) chooseNodeAddresses(l layout) error {
	taken, err := nodeLink(l, *s).Taken()
	if err != nil {
		return err
	}
	if s.Node != (node.Addresses{}) && !s.Node.Collides(taken) {
		return nil
	}
	if s.Node, err = node.Choose(taken, rand.IntN(1<<16)); err != nil {
		return err
	}
	return s.save(l)
}

// startRuntime starts a real node and containerd.
func (c *Cluster) startRuntime(ctx context.Context, stages [][]spec) error {
	l, s := c.plan.layout, c.plan.settings
	// They may remain from an earlier start.
	if err := removeNode(ctx, l); err != nil {
		return err
	}
	if err := c.startStage(ctx, stages[0]); err != nil {
		return err
	}
	if err := nodeLink(l, s).Connect(c.Process(nodeInit).PID()); err != nil {
		return err
	}
	if err := errors.Join(removeStaleNodes(), node.MakeCgroups(nodeCgroup(l))); err != nil {
		return err
	}
	c.progress.printf("node: %s has address %s, pods are in %s", realNode, s.Node.Node(), s.Node.Pods)
	return c.startStages(ctx, stages[1:])
}

// removeNode removes the link and the cgroups of a node whose processes have ended.
func removeNode(ctx context.Context, l layout) error {
	if err := node.RemoveCgroups(ctx, nodeCgroup(l)); err != nil {
		return err
	}
	return nodeLink(l, settings{}).Remove()
}

// NodeAddress is the IP address of the real node, on which NodePorts are served, or "".
func (c *Cluster) NodeAddress() string {
	if c.plan.options.Node != NodeReal {
		return ""
	}
	return c.plan.settings.Node.Node()
}

// RunOnNode runs a program of this machine in the real node's namespaces, such as "ip route"
// or "nft list ruleset", and returns its output.
func (c *Cluster) RunOnNode(ctx context.Context, name string, args ...string) (string, error) {
	p := c.Process(nodeInit)
	if p == nil || !p.Running() {
		return "", fmt.Errorf("running %s on the node: the cluster has no real node, or it has ended", name)
	}
	return node.Run(ctx, p.PID(), name, args...)
}
