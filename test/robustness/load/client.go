// Package load sends requests for Websites from many concurrent clients, through kube-apiserver and
// directly, and records them with their results.
package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	typed "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/robustness/history"
)

const (
	// valueAnnotation holds a value unique to a write, tierLabel the value for selectors.
	valueAnnotation = "robustness/value"
	tierLabel       = "tier"
	// requestTimeout bounds a request. The outcome of a timed-out request is unknown.
	requestTimeout = 3 * time.Second
)

// tiers are the values of tierLabel.
var tiers = []string{"x", "y"}

// client is one client at one server. It sends one request after the other.
type client struct {
	id        int
	target    string
	namespace string
	recorder  *history.Recorder
	rest      rest.Interface
	websites  typed.WebsiteInterface
	// seen are the revisions that a writer has read last, by name.
	seen map[string]int64
}

func (l *Load) newClient(target string) (*client, error) {
	set, err := versioned.NewForConfig(WithoutRetries(l.options.Targets[target]))
	if err != nil {
		return nil, fmt.Errorf("creating a client of %s: %w", target, err)
	}
	l.clients++
	api := set.WebsiteV1beta1()
	return &client{
		id: l.clients, target: target, namespace: l.options.Namespace, recorder: l.options.Recorder,
		rest: api.RESTClient(), websites: api.Websites(l.options.Namespace), seen: map[string]int64{},
	}, nil
}

// WithoutRetries returns the configuration of a client that sends each request once and
// without delay.
func WithoutRetries(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withoutRetries{next} })
	return config
}

// withoutRetries keeps client-go from repeating a request, so that each operation is one request.
type withoutRetries struct{ http.RoundTripper }

func (w withoutRetries) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.RoundTripper.RoundTrip(r)
	if response != nil {
		response.Header.Del("Retry-After")
	}
	return response, err //nolint:wrapcheck // A round tripper returns errors unchanged.
}

// do sends a request and records it. The request function fills in the result.
func (c *client) do(parent context.Context, o history.Operation,
	request func(context.Context, *history.Operation) error) history.Operation {
	ctx, cancel := context.WithTimeout(parent, requestTimeout)
	defer cancel()
	o.ID, o.Client, o.Target = c.recorder.NextID(), c.id, c.target
	o.Call = c.recorder.Now()
	err := request(ctx, &o)
	o.Return = c.recorder.Now()
	o.Outcome = outcome(err)
	if err != nil {
		o.Reason, o.Error = string(apierrors.ReasonForError(err)), message(err)
	}
	// A request that was cancelled by the end of the load proves nothing about the server.
	if err != nil && errors.Is(parent.Err(), context.Canceled) && !o.Verb.Writes() {
		return o
	}
	c.recorder.Operation(o)
	return o
}

// message returns the message of an error, also if the response body is not a Status.
func message(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			text += ": " + cause.Message
		}
	}
	return text
}

// outcome distinguishes errors that exclude a change from all others.
func outcome(err error) history.Outcome {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return history.OK
	// A server error may follow a write. So may 429, if the proxy sent it.
	case errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 429:
		return history.Refused
	default:
		return history.Unknown
	}
}

// observed returns the recorded form of a Website.
func observed(w *v1beta1.Website) history.Object {
	return history.Object{
		Name: w.Name, UID: string(w.UID), Revision: revisionOf(w.ResourceVersion),
		Value: w.Annotations[valueAnnotation], Tier: w.Labels[tierLabel],
	}
}

func revisionOf(resourceVersion string) int64 {
	// No check accepts revision 0, which stands for an invalid resource version.
	revision, _ := strconv.ParseInt(resourceVersion, 10, 64)
	return revision
}

// repositoryOf returns the value of a selectable field that corresponds to the tier label.
func repositoryOf(tier string) string { return "https://example.com/" + tier + ".git" }

func (c *client) website(name string, r history.Request) *v1beta1.Website {
	return &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.namespace, Name: name, Labels: map[string]string{tierLabel: r.NewTier},
			Annotations: map[string]string{valueAnnotation: r.Value},
		},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: repositoryOf(r.NewTier)}},
		},
	}
}

// answered records the Website of a response.
func answered(o *history.Operation, w *v1beta1.Website, err error) error {
	if err == nil {
		object := observed(w)
		o.Object = &object
	}
	return err
}

func (c *client) create(ctx context.Context, name string, r history.Request) history.Operation {
	return c.do(ctx, history.Operation{Verb: history.Create, Name: name, Request: r},
		func(ctx context.Context, o *history.Operation) error {
			w, err := c.websites.Create(ctx, c.website(name, r), metav1.CreateOptions{})
			return answered(o, w, err)
		})
}

// update replaces the Website with the revision of the precondition.
func (c *client) update(ctx context.Context, name string, r history.Request) history.Operation {
	return c.do(ctx, history.Operation{Verb: history.Update, Name: name, Request: r},
		func(ctx context.Context, o *history.Operation) error {
			desired := c.website(name, r)
			desired.ResourceVersion = strconv.FormatInt(r.Precondition, 10)
			w, err := c.websites.Update(ctx, desired, metav1.UpdateOptions{})
			return answered(o, w, err)
		})
}

func (c *client) patch(ctx context.Context, name string, r history.Request) history.Operation {
	return c.do(ctx, history.Operation{Verb: history.Patch, Name: name, Request: r},
		func(ctx context.Context, o *history.Operation) error {
			patch, err := json.Marshal(map[string]any{
				"metadata": map[string]any{"labels": map[string]string{tierLabel: r.NewTier},
					"annotations": map[string]string{valueAnnotation: r.Value}},
				"spec": map[string]any{"source": map[string]any{"git": map[string]any{"repository": repositoryOf(r.NewTier)}}},
			})
			if err != nil {
				return fmt.Errorf("encoding a patch: %w", err)
			}
			w, err := c.websites.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return answered(o, w, err)
		})
}

func (c *client) delete(ctx context.Context, name string) history.Operation {
	return c.do(ctx, history.Operation{Verb: history.Delete, Name: name},
		func(ctx context.Context, o *history.Operation) error {
			// The typed client drops the response, which contains the deleted Website.
			result := c.rest.Delete().Namespace(c.namespace).Resource("websites").Name(name).
				Body(&metav1.DeleteOptions{}).Do(ctx)
			if err := result.Error(); err != nil {
				return err
			}
			status := &metav1.Status{}
			if err := result.Into(status); err != nil {
				return fmt.Errorf("decoding the answer to a deletion: %w", err)
			}
			if status.Details != nil {
				o.Object = &history.Object{Name: name, UID: string(status.Details.UID)}
			}
			return nil
		})
}

func (c *client) get(ctx context.Context, name string, r history.Request) history.Operation {
	return c.do(ctx, history.Operation{Verb: history.Get, Name: name, Request: r},
		func(ctx context.Context, o *history.Operation) error {
			w, err := c.websites.Get(ctx, name, metav1.GetOptions{ResourceVersion: r.ResourceVersion})
			return answered(o, w, err)
		})
}

// list returns the token of the next page, or "".
func (c *client) list(ctx context.Context, r history.Request, token string) (o history.Operation, next string) {
	options := metav1.ListOptions{ResourceVersion: r.ResourceVersion, Limit: r.Limit, Continue: token}
	switch {
	case r.Exact:
		options.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	case r.ResourceVersion != "":
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	if r.Tier != "" {
		options.LabelSelector = tierLabel + "=" + r.Tier
	}
	o = c.do(ctx, history.Operation{Verb: history.List, Request: r},
		func(ctx context.Context, o *history.Operation) error {
			list, err := c.websites.List(ctx, options)
			if err != nil {
				return err //nolint:wrapcheck // The error's type is the outcome.
			}
			next = list.Continue
			o.Page = &history.Page{Revision: revisionOf(list.ResourceVersion), More: next != "",
				Remaining: list.RemainingItemCount, Items: []history.Object{}}
			for i := range list.Items {
				o.Page.Items = append(o.Page.Items, observed(&list.Items[i]))
			}
			return nil
		})
	return o, next
}
