package storage

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// maxWaiters is the number of requests that may wait at once. Each holds a watch.
	maxWaiters = 256
	// maxNamespaceWaiters is the number that one namespace may have, so that requests for a hanging git server
	// leave places to others.
	maxNamespaceWaiters = maxWaiters / 4
	// waiterRetrySeconds is the Retry-After of further requests.
	waiterRetrySeconds = 5
)

// waiters are the places of waiting requests.
type waiters struct {
	mu          sync.Mutex
	total       int
	byNamespace map[string]int
}

// enter takes a place, or returns an error for the client.
func (w *waiters) enter(namespace string) (release func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.total >= maxWaiters {
		return nil, waitersError(fmt.Sprintf("%d requests wait already", w.total))
	}
	if n := w.byNamespace[namespace]; n >= maxNamespaceWaiters {
		return nil, waitersError(fmt.Sprintf("%d requests wait already in namespace %s", n, namespace))
	}
	if w.byNamespace == nil {
		w.byNamespace = map[string]int{}
	}
	w.total++
	w.byNamespace[namespace]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.total--
		if w.byNamespace[namespace]--; w.byNamespace[namespace] == 0 {
			delete(w.byNamespace, namespace)
		}
	}, nil
}

func waitersError(reason string) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf("%s: retry in %d seconds, or request without timeoutSeconds", reason,
		waiterRetrySeconds), waiterRetrySeconds)
}
