package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"
)

// unavailableError is returned instead of an answer of etcd.
type unavailableError struct{ message string }

func (e *unavailableError) Error() string { return e.message }

// boundedKV ends requests that etcd does not answer. Those for one object have a
// timeout. Reading many may take longer, and ends when etcd does not answer anything.
// Watches have neither, so that the watch cache stays filled.
type boundedKV struct {
	clientv3.KV
	guard *Guard
}

// operation is the kind of a request.
type operation bool

const (
	readOperation  operation = false
	writeOperation operation = true
)

// operationOf returns the kind of an operation of etcd's client.
func operationOf(op clientv3.Op) operation { return operation(!op.IsGet()) }

// bound returns a context for a request, and a function for its end, which returns
// the error for the client.
func (k boundedKV) bound(parent context.Context, timeout time.Duration, does operation) (context.Context,
	func(error) error) {
	ctx, cancel := context.WithCancelCause(parent)
	if outage := k.guard.Outage(); outage != nil {
		cancel(&unavailableError{outage.Message})
		return ctx, func(error) error { return context.Cause(ctx) }
	}
	release := func() bool { return true }
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() {
			cancel(&unavailableError{fmt.Sprintf("etcd has not answered within %s", timeout)})
		})
		release = timer.Stop
	}
	stop := context.AfterFunc(k.guard.reach.answering.Load().ctx, func() {
		message := "etcd does not answer"
		if outage := k.guard.Outage(); outage != nil {
			message = outage.Message
		}
		cancel(&unavailableError{message})
	})
	return ctx, func(err error) error {
		stop()
		release()
		defer cancel(nil)
		if err == nil {
			// The etcd of this process answers reads even if it cannot write.
			if does == writeOperation || k.guard.config.Direct == nil {
				k.guard.reach.answers.Add(1)
			}
			return nil
		}
		var unavailable *unavailableError
		if errors.As(context.Cause(ctx), &unavailable) {
			return unavailable
		}
		return err
	}
}

// timeoutOf returns the time limit of an operation, 0 if it is about many objects.
func timeoutOf(op clientv3.Op) time.Duration {
	if len(op.RangeBytes()) > 0 && !op.IsCountOnly() {
		return 0
	}
	return requestTimeout
}

func (k boundedKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if key == compactRevisionKey {
		return k.getCompactRevision(ctx, opts)
	}
	return k.get(ctx, key, opts)
}

func (k boundedKV) get(ctx context.Context, key string, opts []clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, end := k.bound(ctx, timeoutOf(clientv3.OpGet(key, opts...)), readOperation)
	response, err := k.KV.Get(ctx, key, opts...)
	return response, end(err)
}

// getCompactRevision waits until the server is open and etcd answers. Both are logged once, whereas the compactor logs
// each failure, and tries again after a second.
func (k boundedKV) getCompactRevision(ctx context.Context,
	opts []clientv3.OpOption) (response *clientv3.GetResponse, err error) {
	err = wait.PollUntilContextCancel(ctx, closedInterval, true, func(ctx context.Context) (bool, error) {
		if k.guard.Closed() != nil {
			return false, nil
		}
		var unavailable *unavailableError
		response, err = k.get(ctx, compactRevisionKey, opts)
		if errors.As(err, &unavailable) || err != nil && k.guard.Closed() != nil {
			return false, nil
		}
		return true, err
	})
	return response, err
}

func (k boundedKV) Put(ctx context.Context, key, value string,
	opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	ctx, end := k.bound(ctx, requestTimeout, writeOperation)
	response, err := k.KV.Put(ctx, key, value, opts...)
	return response, end(err)
}

func (k boundedKV) Delete(ctx context.Context, key string,
	opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	ctx, end := k.bound(ctx, requestTimeout, writeOperation)
	response, err := k.KV.Delete(ctx, key, opts...)
	return response, end(err)
}

func (k boundedKV) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	ctx, end := k.bound(ctx, timeoutOf(op), operationOf(op))
	response, err := k.KV.Do(ctx, op)
	return response, end(err)
}

// streamEnd is the key of what guardedStream calls when it has received all of a stream.
type streamEnd struct{}

// GetStream ends with its last chunk, with its parent, or when etcd does not answer. The chunks
// are not passed on here: a list without the last one, which has the error, looks complete.
func (k boundedKV) GetStream(ctx context.Context, key string,
	opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	parent := ctx
	ctx, end := k.bound(parent, 0, readOperation)
	withParent := context.AfterFunc(parent, func() { _ = end(parent.Err()) })
	// Some parents never end.
	ctx = context.WithValue(ctx, streamEnd{}, func() {
		if withParent() {
			_ = end(nil)
		}
	})
	stream, err := k.KV.GetStream(ctx, key, opts...)
	if err != nil {
		withParent()
		return nil, end(err)
	}
	return stream, nil
}

func (k boundedKV) Txn(ctx context.Context) clientv3.Txn {
	ctx, end := k.bound(ctx, requestTimeout, writeOperation)
	return &boundedTxn{k.KV.Txn(ctx), end}
}

// boundedTxn has its timeout from when it was made, right before it is committed.
type boundedTxn struct {
	clientv3.Txn
	end func(error) error
}

func (t *boundedTxn) If(compares ...clientv3.Cmp) clientv3.Txn {
	t.Txn = t.Txn.If(compares...)
	return t
}

func (t *boundedTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.Txn = t.Txn.Then(ops...)
	return t
}

func (t *boundedTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.Txn = t.Txn.Else(ops...)
	return t
}

func (t *boundedTxn) Commit() (*clientv3.TxnResponse, error) {
	response, err := t.Txn.Commit()
	return response, t.end(err)
}
