package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"syscall"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestGracefulShutdown terminates a server during a watch and a slow request: the request is
// finished, the watch ends, and the exit code is 0.
func TestGracefulShutdown(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	s := framework.NewServer(t)
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1alpha1().Websites(namespace)

	inFlight, finish := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(finish) })
	t.Cleanup(release)
	announce := sync.OnceFunc(func() { close(inFlight) })
	webhook := framework.NewWebhook(t, func(w *unstructured.Unstructured, _ *admissionv1.AdmissionResponse) {
		if w.GetName() == "slow" {
			announce()
			<-finish
		}
	})
	framework.ValidateBy(t, namespace, webhook, admissionregistrationv1.Fail)

	watching, err := websites.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	type result struct {
		website *v1alpha1.Website
		err     error
	}
	created := make(chan result, 1)
	go func() {
		// Requests are slow once the server's informer has the webhook.
		for {
			w, err := websites.Create(ctx, framework.NewV1alpha1(namespace, "slow"), metav1.CreateOptions{})
			select {
			case <-inFlight:
				created <- result{w, err}
				return
			default:
			}
			if err == nil {
				err = websites.Delete(ctx, "slow", metav1.DeleteOptions{})
			}
			if err != nil {
				created <- result{nil, err}
				return
			}
		}
	}()
	select {
	case <-inFlight:
	case r := <-created:
		t.Fatalf("before the shutdown: %v", r.err)
	}

	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the server is not ready any more", func(ctx context.Context) error {
		// The server may have closed its port already.
		if code, _, err := framework.SecureGet(ctx, t, s.URL+"/readyz", false); err == nil && code == http.StatusOK {
			return errors.New("ready")
		}
		return nil
	})
	select {
	case r := <-created:
		t.Fatalf("the request ended before the webhook had answered: %+v", r)
	default:
	}
	release()
	if r := <-created; r.err != nil || r.website.UID == "" {
		t.Errorf("the request in flight: %+v, %v; want it finished", r.website, r.err)
	}
	for event := range watching.ResultChan() {
		if event.Type == watch.Error {
			t.Errorf("the watch ended with %+v", event.Object)
		}
	}
	exit, err := s.Wait(ctx)
	if err != nil || exit.Code != 0 {
		t.Errorf("SIGTERM ended the server with %+v (%v), want exit code 0", exit, err)
	}

	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the acknowledged Website exists", func(ctx context.Context) error {
		// Client certificates are rejected until the host's CA for them is read. The aggregator's
		// requests do not depend on it.
		_, err := websites.Get(ctx, "slow", metav1.GetOptions{})
		return err
	})
}
