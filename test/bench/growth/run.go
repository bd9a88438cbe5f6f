package growth

import (
	"context"
	"fmt"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// apiServer is the process that is restarted.
const apiServer = "website-apiserver"

// run is one run of all measurements.
type run struct {
	*measure.Run
	// websites is a client of kube-apiserver.
	websites versioned.Interface
	// proxied and direct are kube-apiserver and website-apiserver, for requests whose
	// responses are not decoded.
	proxied, direct *measure.Client
	// created and namespaces are the numbers of Websites and of their namespaces so far.
	created, namespaces int
}

// Run starts a cluster without website-controller, measures, and stops the cluster. With an error, the report has the
// stages until then.
func Run(ctx context.Context, options measure.Options) (measure.Report, error) {
	report := &Report{}
	return report, measure.Start(ctx, &report.Head, options,
		devcluster.Options{Node: devcluster.NodeSimulated, WithoutController: true},
		func(ctx context.Context, started *measure.Run) error {
			r := &run{Run: started}
			if err := r.connect(); err != nil {
				return err
			}
			for _, size := range options.Sizes {
				stage, err := r.stage(ctx, size)
				if err != nil {
					return fmt.Errorf("%d Websites: %w", size, err)
				}
				report.Stages = append(report.Stages, *stage)
			}
			return nil
		})
}

// connect makes the clients.
func (r *run) connect() (err error) {
	config := r.Cluster.AdminConfig()
	if r.proxied, err = measure.NewClient(config, 1); err != nil {
		return err
	}
	own := rest.CopyConfig(config)
	own.Host = r.Cluster.WebsiteAPIServerURL()
	if r.direct, err = measure.NewClient(own, 1); err != nil {
		return err
	}
	config.ContentType, config.AcceptContentTypes = k8sruntime.ContentTypeProtobuf, k8sruntime.ContentTypeProtobuf
	if r.websites, err = versioned.NewForConfig(config); err != nil {
		return fmt.Errorf("creating a client of Websites: %w", err)
	}
	return nil
}

// processes are the servers as they run now.
func (r *run) processes() measure.Processes { return r.Processes("kube-apiserver", apiServer, "etcd") }
