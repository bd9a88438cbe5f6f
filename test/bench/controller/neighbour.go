package controller

import (
	"context"
	"errors"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

const neighbourName = "neighbour"

// createNeighbour creates a Website in a namespace of its own, while others are created in the namespace of the trial.
// It returns the milliseconds from the request until its Deployment exists, to within pollPeriod.
func (t *trial) createNeighbour(ctx context.Context) (float64, error) {
	begin := time.Now()
	if err := t.createWebsiteIn(ctx, t.neighbours(), neighbourName); err != nil {
		return 0, err
	}
	path := "/apis/apps/v1/namespaces/" + t.neighbours() + "/deployments"
	err := await(ctx, "the Website of another namespace has its Deployment", t.patience(), func() error {
		exists, err := t.exists(ctx, path, neighbourName)
		if err == nil && !exists {
			err = errors.New("there is none")
		}
		return err
	})
	return measure.Milliseconds(time.Since(begin)), err
}

// neighbours is the namespace of createNeighbour.
func (t *trial) neighbours() string { return t.namespace + "-neighbour" }
