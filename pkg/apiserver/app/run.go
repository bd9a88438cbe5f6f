package app

import (
	"context"
	"errors"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
	"github.com/kubesites/website-apiserver/pkg/version"
)

// Run serves until ctx ends and then shuts down: requests in flight are
// finished, then the embedded etcd, if there is one, is closed. It returns an
// error when the server cannot start, or when its etcd fails.
func Run(ctx context.Context, o options.CompletedOptions) (err error) {
	klog.FromContext(ctx).Info("Starting website-apiserver", "version", version.GitVersion())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	if o.EmbeddedEtcd() {
		etcd, err := embeddedetcd.Start(ctx, o.DataDir)
		if err != nil {
			return err
		}
		failed := make(chan error, 1)
		go func() {
			// Without its store the server can only fail requests: a restart
			// is the better answer.
			failed <- etcd.Wait(ctx)
			cancel()
		}()
		serveErr := serve(ctx, o)
		cancel()
		return errors.Join(serveErr, <-failed, etcd.Close())
	}
	return serve(ctx, o)
}

func serve(ctx context.Context, o options.CompletedOptions) error {
	config, err := o.Config(ctx)
	if err != nil {
		return err
	}
	server, err := config.Complete().New()
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
