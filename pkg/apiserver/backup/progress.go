package backup

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// progressInterval is the interval of the lines in the log.
const progressInterval = time.Second

// progress logs the progress of an operation.
type progress struct {
	logger klog.Logger
	total  int64
	done   int64
	logged time.Time
}

func newProgress(ctx context.Context, total int64) *progress {
	return &progress{logger: klog.FromContext(ctx), total: total, logged: time.Now()}
}

// add adds completed work.
func (p *progress) add(done int64) {
	p.done += done
	if now := time.Now(); now.Sub(p.logged) >= progressInterval {
		p.logged = now
		// The total may grow meanwhile.
		p.logger.Info("Progress", "done", p.done, "total", max(p.total, p.done))
	}
}

// Write counts bytes.
func (p *progress) Write(data []byte) (int, error) {
	p.add(int64(len(data)))
	return len(data), nil
}
