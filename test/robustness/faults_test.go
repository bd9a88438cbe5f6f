package robustness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// fault is a failure that is injected. At its end, everything is as before.
type fault struct {
	name   string
	inject func(*run) error
	// refuses is set if servers are expected to respond with 503 only.
	refuses bool
	// stalls is set if requests wait for a paused process, so that few are answered during the
	// short pause.
	stalls bool
	// long is set for faults of the long form only: the short form has another one that includes them.
	long bool
}

var faults = []fault{
	{name: "none", inject: func(r *run) error { r.calm(holdTime()); return nil }},
	{name: "kill-apiserver", inject: func(r *run) error { return r.kill(anyOf(framework.Cluster.WebsiteAPIServers())) }},
	{name: "pause-apiserver", inject: func(r *run) error { return r.pause(anyOf(framework.Cluster.WebsiteAPIServers())) }},
	{name: "kill-etcd-member", inject: func(r *run) error { return r.kill(anyOf(r.members)) }},
	{name: "pause-etcd-member", inject: func(r *run) error { return r.pause(anyOf(r.members)) }, stalls: true},
	{name: "kill-etcd-leader", inject: killLeader},
	{name: "change-etcd-leader", inject: moveLeader},
	{name: "blackhole", inject: blackhole},
	{name: "goaway-storm", inject: goawayStorm},
	{name: "compact-and-defragment", inject: compact},
	{name: "close-and-open", inject: closeAndOpen, refuses: true, long: true},
	{name: "restore", inject: restore, refuses: true},
}

// anyOf chooses a process by its name.
func anyOf[V any](m map[string]V) string {
	names := slices.Sorted(maps.Keys(m))
	return names[rand.IntN(len(names))]
}

func (r *run) kill(name string) error {
	p := process(name)
	if err := p.Kill(r.t.Context()); err != nil {
		return err
	}
	r.calm(holdTime())
	if err := p.Start(r.t.Context()); err != nil {
		return err
	}
	return p.WaitReady(r.t.Context())
}

// pause stops a process as a machine without CPU time does: no connection is closed.
func (r *run) pause(name string) error {
	p := process(name)
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	r.calm(pauseTime())
	return p.Signal(syscall.SIGCONT)
}

func killLeader(r *run) error {
	leader, err := r.leader(r.t.Context())
	if err != nil {
		return err
	}
	return r.kill(leader)
}

// moveLeader makes every member the leader in turn.
func moveLeader(r *run) error {
	for range etcdMembers {
		leader, err := r.leader(r.t.Context())
		if err != nil {
			return err
		}
		for name, member := range r.members {
			if name == leader {
				continue
			}
			status, err := member.Status(r.t.Context(), member.Endpoints()[0])
			if err != nil {
				return err
			}
			if _, err := r.members[leader].MoveLeader(r.t.Context(), status.Header.MemberId); err != nil {
				return err
			}
			break
		}
		r.calm(holdTime() / etcdMembers)
	}
	return nil
}

// blackhole cuts kube-apiserver off from one of the servers.
func blackhole(r *run) error {
	name := anyOf(framework.Cluster.WebsiteAPIServers())
	framework.Cluster.Balancer().CutOff(name)
	defer framework.Cluster.Balancer().Reconnect(name)
	r.calm(holdTime())
	return nil
}

// goawayChance is the highest chance that servers accept.
const goawayChance = "--goaway-chance=0.02"

// goawayStorm makes servers close connections frequently.
func goawayStorm(r *run) error {
	if err := r.restartWith(goawayChance); err != nil {
		return err
	}
	r.calm(holdTime())
	return r.restartWith()
}

// restartWith restarts one server after the other with further flags.
func (r *run) restartWith(args ...string) error {
	for name := range framework.Cluster.WebsiteAPIServers() {
		p := process(name)
		p.SetExtraArgs(args...)
		// The server is killed, which is faster.
		if err := errors.Join(p.Kill(r.t.Context()), p.Start(r.t.Context())); err != nil {
			return err
		}
		if err := p.WaitReady(r.t.Context()); err != nil {
			return err
		}
		r.waitReady()
	}
	return nil
}

// compact compacts etcd's history, and defragments the databases.
func compact(r *run) error {
	current, err := r.etcd.Get(r.t.Context(), "ready")
	if err != nil {
		return err
	}
	// The test would lose changes that it has not received yet.
	revision := current.Header.Revision
	framework.WaitFor(r.t, "the test has received the changes to compact", func(context.Context) error {
		if !r.recorder.HasChange(revision) {
			return errors.New("not yet")
		}
		return nil
	})
	if _, err := r.etcd.Compact(r.t.Context(), revision, clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("compacting etcd: %w", err)
	}
	for name, member := range r.members {
		if _, err := member.Defragment(r.t.Context(), member.Endpoints()[0]); err != nil {
			return fmt.Errorf("defragmenting %s: %w", name, err)
		}
	}
	r.calm(holdTime())
	return nil
}

const (
	storeRecordKey  = "/registry/website-apiserver/store"
	recordNamespace = "website-system"
	recordName      = "website-store"
)

// closeAndOpen makes the store look like an earlier copy of itself for a while.
func closeAndOpen(r *run) error {
	ctx := r.t.Context()
	stored, err := r.etcd.Get(ctx, storeRecordKey)
	if err != nil || len(stored.Kvs) != 1 {
		return fmt.Errorf("reading the record of the store: %v %w", stored, err)
	}
	record := map[string]any{}
	if err := json.Unmarshal(stored.Kvs[0].Value, &record); err != nil {
		return fmt.Errorf("decoding the record of the store: %w", err)
	}
	put := func(nonce string) error {
		record["nonce"] = nonce
		value, err := json.Marshal(record)
		if err != nil {
			return fmt.Errorf("encoding the record of the store: %w", err)
		}
		_, err = r.etcd.Put(ctx, storeRecordKey, string(value))
		return err
	}
	if err := put("earlier"); err != nil {
		return err
	}
	r.waitClosed()
	r.measure(during, func() { r.calm(holdTime()) })
	configMap, err := framework.Admin(r.t).Kubernetes.CoreV1().ConfigMaps(recordNamespace).Get(ctx, recordName,
		metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the record of the host: %w", err)
	}
	return put(strings.Fields(configMap.Data["nonces"])[0])
}

// waitClosed waits until all servers reject requests because of their store.
func (r *run) waitClosed() {
	r.t.Helper()
	framework.WaitFor(r.t, "all servers are closed", func(ctx context.Context) error {
		for name, url := range framework.Cluster.WebsiteAPIServers() {
			config := framework.AdminConfig(r.t)
			config.Host = url
			switch err := r.lists(ctx, config); {
			case err == nil:
				return fmt.Errorf("%s serves its store", name)
			case !strings.Contains(err.Error(), "the server is closed"):
				return fmt.Errorf("%s answers %w", name, err)
			}
		}
		return nil
	})
}

// refused reports whether a closed server has rejected an operation.
func refused(o *history.Operation) bool {
	return o.Outcome != history.Unknown || strings.Contains(o.Error, "the server is closed")
}
