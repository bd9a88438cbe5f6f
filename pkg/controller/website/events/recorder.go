package events

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientevents "k8s.io/client-go/tools/events"
	recordutil "k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// maxPendingEvents limits the memory for unwritten events while the API server is unavailable.
// Further events are dropped.
const maxPendingEvents = 1000

// eventBackoff is the backoff of writes of an event.
var eventBackoff = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 5}

// Recorder writes events in the background and can be waited for. The recorder
// of client-go's event broadcaster cannot: it hands every event to goroutines
// that are not joined, so the events of the last moments before a shutdown would
// be lost. Bundling equal events is not needed here, because the
// Reporter reports nothing twice.
type Recorder struct {
	ctx      context.Context
	cancel   context.CancelFunc
	sink     clientevents.EventSink
	scheme   *runtime.Scheme
	instance string
	pending  chan struct{}
	writers  sync.WaitGroup
}

var _ clientevents.EventRecorder = &Recorder{}

// NewRecorder returns a recorder that writes to sink. The context provides the
// logger; its end does not stop the recorder, Shutdown does.
func NewRecorder(ctx context.Context, sink clientevents.EventSink) (*Recorder, error) {
	scheme := runtime.NewScheme()
	if err := v1beta1.Install(scheme); err != nil { // Children in the caches know their kinds.
		return nil, fmt.Errorf("registering the types that events refer to: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("finding the host name, which events carry: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &Recorder{
		ctx:      ctx,
		cancel:   cancel,
		sink:     sink,
		scheme:   scheme,
		instance: cached.FieldManager + "-" + host,
		pending:  make(chan struct{}, maxPendingEvents),
	}, nil
}

// Eventf writes an event about regarding. It does not block.
func (r *Recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	logger := klog.FromContext(r.ctx)
	event, err := r.event(regarding, related, eventType, reason, action, fmt.Sprintf(note, args...))
	if err != nil {
		logger.Error(err, "Dropped an event", "reason", reason)
		return
	}
	select {
	case r.pending <- struct{}{}:
	default:
		logger.Error(nil, "Dropped an event, too many are waiting to be written", "reason", reason, "regarding",
			klog.KRef(event.Regarding.Namespace, event.Regarding.Name), "limit", maxPendingEvents)
		return
	}
	r.writers.Go(func() {
		defer func() { <-r.pending }()
		r.write(event)
	})
}

// Shutdown waits until the events recorded so far are written, or until ctx
// ends, and stops the recorder. No event may be recorded during or after it.
func (r *Recorder) Shutdown(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	r.writers.Wait()
	r.cancel()
}

func (r *Recorder) event(regarding, related runtime.Object, eventType, reason, action,
	note string) (*eventsv1.Event, error) {
	about, err := reference.GetReference(r.scheme, regarding)
	if err != nil {
		return nil, fmt.Errorf("referring to the object of an event: %w", err)
	}
	var other *corev1.ObjectReference
	if related != nil {
		if other, err = reference.GetReference(r.scheme, related); err != nil {
			return nil, fmt.Errorf("referring to the related object of an event: %w", err)
		}
	}
	now := time.Now()
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      recordutil.GenerateEventName(about.Name, now.UnixNano()),
			Namespace: about.Namespace,
		},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: cached.FieldManager,
		ReportingInstance:   r.instance,
		Action:              action,
		Reason:              reason,
		Regarding:           *about,
		Related:             other,
		Note:                note,
		Type:                eventType,
	}, nil
}

func (r *Recorder) write(event *eventsv1.Event) {
	var last error
	err := wait.ExponentialBackoffWithContext(r.ctx, eventBackoff, func(ctx context.Context) (bool, error) {
		_, last = r.sink.Create(ctx, event)
		if last == nil || apierrors.IsAlreadyExists(last) {
			return true, nil
		}
		// The API server would give the same response again, unless it was only busy; a request that
		// never reached it may succeed the next time.
		var transient = apierrors.ReasonForError(last) == metav1.StatusReasonUnknown ||
			apierrors.IsTooManyRequests(last) || apierrors.IsServerTimeout(last) ||
			apierrors.IsServiceUnavailable(last) || apierrors.IsInternalError(last)
		if transient {
			return false, nil
		}
		return false, last
	})
	if err != nil && last != nil {
		err = last
	}
	if err != nil {
		klog.FromContext(r.ctx).Error(err, "Failed to write an event", "reason", event.Reason, "regarding",
			klog.KRef(event.Regarding.Namespace, event.Regarding.Name))
	}
}
