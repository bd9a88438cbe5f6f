package app

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
	"github.com/kubesites/website-apiserver/pkg/version"
)

// etcdPatience bounds the time for which the server does not listen because its
// etcd is starting. After that it responds to requests for Websites with 503, and
// serves all others.
const etcdPatience = 5 * time.Second

// Run serves until ctx ends and then shuts down: requests in flight are
// finished, then the embedded etcd, if there is one, is closed. It returns an
// error when the server cannot start, or when its etcd fails after it has started.
func Run(ctx context.Context, o options.CompletedOptions) (err error) {
	klog.FromContext(ctx).Info("Starting website-apiserver", "version", version.GitVersion())
	if !o.EmbeddedEtcd() {
		return serve(ctx, o)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	etcd := embeddedetcd.NewSupervisor(o.EmbeddedEtcdConfig(), clock.RealClock{})
	failed := make(chan error, 1)
	go func() {
		// Once etcd has failed, the process ends, as a restart is more likely to succeed.
		failed <- etcd.Run(ctx)
		cancel()
	}()
	waiting, stop := context.WithTimeout(ctx, etcdPatience)
	etcd.Wait(waiting)
	stop()
	serveErr := serve(ctx, o.WithEmbeddedEtcd(etcd))
	cancel()
	return errors.Join(serveErr, <-failed, etcd.Close())
}

func serve(ctx context.Context, o options.CompletedOptions) error {
	config, err := o.Config(ctx)
	if err != nil {
		return err
	}
	server, err := config.New()
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
