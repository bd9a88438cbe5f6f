package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

const (
	// neighbourPeriod is the period of the requests for the Deployment of a neighbour.
	neighbourPeriod = 20 * time.Millisecond
	neighbourName   = "neighbour"
)

// createNeighbour creates a Website in a namespace of its own, while others are created in that of the trial. It
// returns the milliseconds from the request until its Deployment exists.
func (t *trial) createNeighbour(ctx context.Context) (float64, error) {
	namespace := t.neighbours()
	body, err := manifest(t.contender.apiVersion, newWebsite(namespace, neighbourName, t.options.Replicas))
	if err != nil {
		return 0, fmt.Errorf("encoding a Website: %w", err)
	}
	begin := time.Now()
	if _, err := t.client.do(ctx, http.MethodPost, websitesPath(t.contender.apiVersion, namespace), jsonType, body); err != nil {
		return 0, err
	}
	path := "/apis/apps/v1/namespaces/" + namespace + "/deployments?fieldSelector=metadata.name%3D" + neighbourName
	for {
		data, err := t.client.do(ctx, http.MethodGet, path, "", nil)
		if err != nil {
			return 0, err
		}
		var found struct {
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(data, &found); err != nil {
			return 0, fmt.Errorf("decoding Deployments: %w", err)
		}
		if len(found.Items) > 0 {
			return measure.Milliseconds(time.Since(begin)), nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(neighbourPeriod):
		}
	}
}

// neighbours is the namespace of createNeighbour.
func (t *trial) neighbours() string { return t.namespace + "-neighbour" }
