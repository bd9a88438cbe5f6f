package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/monitoring"
)

// dashboardTime is the time range in the picture of the dashboard.
const dashboardTime = 90 * time.Second

// testDashboard draws the panels of the dashboard from the metrics in the Prometheus at an
// address, and makes a browser take a picture of them, which stays in _artifacts/e2e. A copy of
// it is in docs/images.
func testDashboard(t *testing.T, address string) {
	chromium := browser(t)
	framework.WaitFor(t, "Prometheus has scraped for long enough", func(ctx context.Context) error {
		now := time.Now()
		found, err := queryRange(ctx, address, `up{job="website-apiserver"}`, now.Add(-dashboardTime), now)
		if err != nil {
			return err
		}
		for _, s := range found {
			if n := len(s.Points); n >= int(dashboardTime.Seconds())/2 {
				return nil
			}
		}
		return fmt.Errorf("of %d series, none is long enough", len(found))
	})
	to := time.Now()
	from := to.Add(-dashboardTime)
	panels, drawn := monitoring.Panels(t), 0
	page, err := monitoring.Picture("Websites", panels, float64(from.Unix()), float64(to.Unix()),
		func(expression string) ([]monitoring.Series, error) {
			found, err := queryRange(t.Context(), address, expression, from, to)
			if len(found) > 0 {
				drawn++
			}
			return found, err
		})
	if err != nil {
		t.Fatal(err)
	}
	// Metrics of snapshots are missing in this short time, and others may be.
	if drawn < len(panels)/2 {
		t.Errorf("only %d queries of %d panels have data", drawn, len(panels))
	}
	file, picture := artifact(t, "dashboard.html"), artifact(t, "dashboard.png")
	framework.WriteFile(t, file, []byte(page))
	if err := os.Remove(picture); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	chromium(t, address, "--window-size=1152,1830", "--screenshot="+picture, "file://"+file)
	content, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	if size, err := png.DecodeConfig(content); err != nil || size.Width != 1152 || size.Height != 1830 {
		t.Errorf("the picture is %+v, %v", size, err)
	}
}

// queryRange returns the values of an expression at each second.
func queryRange(ctx context.Context, address, expression string, from, to time.Time) ([]monitoring.Series, error) {
	parameters := url.Values{
		"query": {expression}, "step": {"1"},
		"start": {strconv.FormatInt(from.Unix(), 10)}, "end": {strconv.FormatInt(to.Unix(), 10)},
	}
	a := get(ctx, http.DefaultClient, address+"/api/v1/query_range?"+parameters.Encode())
	if a.err != nil {
		return nil, a.err
	}
	var response struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(a.body), &response); err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	if response.Status != "success" {
		return nil, errors.New(response.Error)
	}
	var found []monitoring.Series
	for _, result := range response.Data.Result {
		s := monitoring.Series{Labels: result.Metric}
		for _, value := range result.Values {
			seconds, _ := value[0].(float64)
			text, _ := value[1].(string)
			number, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("query %s: %w", expression, err)
			}
			s.Points = append(s.Points, [2]float64{seconds, number})
		}
		found = append(found, s)
	}
	return found, nil
}
