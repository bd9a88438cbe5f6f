package framework

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// SecureGet requests a path of a component's secure port, with or without the administrator's
// client certificate.
func SecureGet(ctx context.Context, t *testing.T, url string, authenticated bool) (int, string, error) {
	t.Helper()
	admin := Cluster.AdminConfig()
	if !authenticated {
		admin = rest.AnonymousClientConfig(admin)
	}
	config, err := rest.TLSConfigFor(admin)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The aggregator names the user by these headers. They are ignored without its certificate.
	request.Header.Set("X-Remote-User", "admin")
	request.Header.Set("X-Remote-Group", "system:masters")
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// ControllerURL is the secure port of website-controller.
func ControllerURL() string {
	return fmt.Sprintf("https://127.0.0.1:%d", Cluster.Ports().WebsiteController)
}

// ControllerIdle returns an error while Websites are queued or reconciled.
func ControllerIdle(ctx context.Context, t *testing.T) error {
	t.Helper()
	code, body, err := SecureGet(ctx, t, ControllerURL()+"/metrics", true)
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return fmt.Errorf("GET /metrics = %d %s", code, body)
	}
	for _, metric := range []string{"workqueue_depth", "workqueue_unfinished_work_seconds"} {
		value, err := MetricValue(body, metric+`{name="websites"}`)
		if err != nil {
			return err
		}
		if value != 0 {
			return fmt.Errorf("%s = %v", metric, value)
		}
	}
	return nil
}

// MetricValue returns the value of a series in the Prometheus text format.
func MetricValue(body, series string) (float64, error) {
	for scanner := bufio.NewScanner(strings.NewReader(body)); scanner.Scan(); {
		if rest, found := strings.CutPrefix(scanner.Text(), series+" "); found {
			return strconv.ParseFloat(rest, 64)
		}
	}
	return 0, fmt.Errorf("no series %s", series)
}

// WaitAnswer waits until the administrator's requests are answered with a status code. A
// component that has just started treats all users as anonymous until it has read the CA of
// their certificates.
func WaitAnswer(t *testing.T, url string, want int) {
	t.Helper()
	WaitFor(t, fmt.Sprintf("GET %s = %d", url, want), func(ctx context.Context) error {
		code, body, err := SecureGet(ctx, t, url, true)
		if err == nil && code != want {
			err = fmt.Errorf("%d %s", code, body)
		}
		return err
	})
}
