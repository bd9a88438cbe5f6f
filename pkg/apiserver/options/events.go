package options

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// storeEvents records events of the ConfigMap that names the store.
type storeEvents struct {
	recorder events.EventRecorder
	record   *corev1.ObjectReference
}

// storeEvents returns a recorder that works until ctx ends.
func (o CompletedOptions) storeEvents(ctx context.Context, config *rest.Config) (storeEvents, error) {
	client, err := hostClient(config)
	if err != nil {
		return storeEvents{}, err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return storeEvents{}, fmt.Errorf("recording events: %w", err)
	}
	return storeEvents{
		recorder: broadcaster.NewRecorder(clientscheme.Scheme, "website-apiserver"),
		record: &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: o.StoreRecordNamespace,
			Name: store.RecordName},
	}, nil
}

// storeChanged records that the server opened, or why it closed.
func (e storeEvents) storeChanged(_ context.Context, closed *store.Closed) {
	if closed == nil {
		e.recorder.Eventf(e.record, nil, corev1.EventTypeNormal, "StoreOpened", "Serve",
			"the store is the recorded one, Websites are served")
		return
	}
	e.recorder.Eventf(e.record, nil, corev1.EventTypeWarning, closed.Reason, "Serve",
		"requests for Websites are answered with 503: %s", closed.Message)
}

// storeReached records that the store answers, or why it does not.
func (e storeEvents) storeReached(outage *store.Outage) {
	if outage == nil {
		e.recorder.Eventf(e.record, nil, corev1.EventTypeNormal, "StoreReachable", "Serve", "the store answers")
		return
	}
	e.recorder.Eventf(e.record, nil, corev1.EventTypeWarning, "StoreUnreachable", "Serve",
		"requests for Websites that need the store are answered with 503: %s", outage.Message)
}

// storeFull records why writes fail, or with an empty message that they succeed.
func (e storeEvents) storeFull(message string) {
	if message == "" {
		e.recorder.Eventf(e.record, nil, corev1.EventTypeNormal, "StoreWritable", "Serve", "the store has space again")
		return
	}
	e.recorder.Eventf(e.record, nil, corev1.EventTypeWarning, "StoreFull", "Serve",
		"writes of Websites are rejected with 507: %s", message)
}

// snapshotFailed records that the store has no new snapshot.
func (e storeEvents) snapshotFailed(err error) {
	e.recorder.Eventf(e.record, nil, corev1.EventTypeWarning, "SnapshotFailed", "Snapshot",
		"taking a snapshot of the store: %v", err)
}
