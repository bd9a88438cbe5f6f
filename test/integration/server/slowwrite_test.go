package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestSlowLargeWrite sends the body of a large write slowly through kube-apiserver, as a user with
// the role edit. Large writes in other namespaces are not delayed.
func TestSlowLargeWrite(t *testing.T) {
	slowly, other := framework.NewNamespace(t), framework.NewNamespace(t)
	config := newAttack(t, slowly).config
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body, send := io.Pipe()
	url := fmt.Sprintf("%s/apis/%s/namespaces/%s/websites/large", config.Host, v1beta1.SchemeGroupVersion, slowly)
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, url, body)
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = 1 << 20
	request.Header.Set("Content-Type", string(types.MergePatchType))
	ended := make(chan error, 1)
	go func() {
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
			err = fmt.Errorf("answered with %s", response.Status)
		}
		ended <- err
	}()
	// The next bytes are sent once the server's flow control allows more than the first frames.
	if _, err := io.CopyN(send, strings.NewReader(strings.Repeat(" ", 256<<10)), 256<<10); err != nil {
		t.Fatal(err)
	}

	// A write waits up to one second for its turn, so two must succeed within that.
	websites := framework.Websites(t, other)
	start := time.Now()
	for i := range 5 {
		w := framework.NewWebsite(other, fmt.Sprintf("large-%d", i), framework.WithReplicas(0))
		w.Annotations = map[string]string{"example.com/large": strings.Repeat("x", 200<<10)}
		if _, err := websites.Create(ctx, w, metav1.CreateOptions{}); err != nil {
			t.Errorf("a large write in another namespace: %v", err)
		}
	}
	t.Logf("5 large writes took %s", time.Since(start).Round(time.Millisecond))
	select {
	case err := <-ended:
		t.Errorf("the slow write has ended: %v", err)
	default:
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the slow write: %v", err)
	}
}
