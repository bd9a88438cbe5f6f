package store

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"k8s.io/klog/v2"
)

// messageFull is for a store that has reached the quota of its etcd.
const messageFull = "the store is full: delete Websites, or raise the quota of etcd"

// ExplainNoSpace adds to the error of a full etcd the remedy that a command advises.
func ExplainNoSpace(err error) error {
	if !errors.Is(rpctypes.Error(err), rpctypes.ErrNoSpace) {
		return err
	}
	return fmt.Errorf("%w: the store has reached the quota of its etcd: wait for its compaction and run the command "+
		"again; if it fails again, restart the server with a higher --embedded-etcd-quota-backend-bytes (of an external "+
		"etcd, raise --quota-backend-bytes, and disarm its alarm)", err)
}

// puts reports whether a request may store a value. Others succeed in a full store.
func puts(request any) bool {
	switch r := request.(type) {
	case *etcdserverpb.PutRequest:
		return true
	case *etcdserverpb.TxnRequest:
		for _, op := range r.GetSuccess() {
			if op.GetRequestPut() != nil {
				return true
			}
		}
	}
	return false
}

// fullMessage says why there is no space.
func (g *Guard) fullMessage() string {
	if err := g.writable(); err != nil {
		return err.Error()
	}
	return messageFull
}

// noteSpace reports when values cannot be stored for lack of space, and when they can
// again, given the result of a request that stores one.
func (g *Guard) noteSpace(err error) {
	switch {
	case err == nil && g.full.CompareAndSwap(true, false):
		klog.InfoS("The store has space again")
		if g.config.Full != nil {
			g.config.Full("")
		}
	case errors.Is(rpctypes.Error(err), rpctypes.ErrNoSpace) && g.full.CompareAndSwap(false, true):
		message := g.fullMessage()
		klog.ErrorS(nil, "The store has no space: writes are rejected with 507", "message", message)
		if g.config.Full != nil {
			g.config.Full(message)
		}
	}
}
