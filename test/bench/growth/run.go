package growth

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// apiServer is the process that is restarted.
const apiServer = "website-apiserver"

// run is one run of all measurements.
type run struct {
	options Options
	cluster *devcluster.Cluster
	// websites and kube are clients of kube-apiserver.
	websites versioned.Interface
	kube     kubernetes.Interface
	// proxied and direct are kube-apiserver and website-apiserver, for requests whose
	// responses are not decoded.
	proxied, direct *client
	report          Report
	begin           time.Time
	// created is the number of Websites so far.
	created int
}

// Run starts a cluster without website-controller, measures, and stops the cluster.
func Run(ctx context.Context, options Options) (report *Report, err error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	r := &run{options: options, begin: time.Now()}
	r.report = Report{Options: options, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Begin: r.begin.UTC().Truncate(time.Second), LoadBefore: measure.LoadAverage()}
	r.progress("starting a cluster")
	if r.cluster, err = devcluster.Up(ctx, devcluster.Options{Node: devcluster.NodeSimulated, WithoutController: true,
		Progress: options.Progress}); err != nil {
		return nil, err
	}
	defer func() {
		if stopped := r.cluster.Stop(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()
	if err := r.connect(); err != nil {
		return nil, err
	}
	for _, size := range options.Sizes {
		stage, err := r.stage(ctx, size)
		if err != nil {
			// What was measured until then is worth reading.
			r.report.Failure = fmt.Sprintf("%d Websites: %v", size, err)
			break
		}
		r.report.Stages = append(r.report.Stages, *stage)
	}
	r.report.LoadAfter, r.report.Seconds = measure.LoadAverage(), time.Since(r.begin).Seconds()
	return &r.report, nil
}

func (r *run) progress(format string, args ...any) {
	fmt.Fprintf(r.options.Progress, "[%4.0f s] %s\n", time.Since(r.begin).Seconds(), fmt.Sprintf(format, args...))
}

// connect makes the clients.
func (r *run) connect() error {
	config, err := r.cluster.AdminConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	if r.proxied, err = newClient(config); err != nil {
		return err
	}
	own := rest.CopyConfig(config)
	own.Host = r.cluster.WebsiteAPIServerURL()
	if r.direct, err = newClient(own); err != nil {
		return err
	}
	config.ContentType, config.AcceptContentTypes = k8sruntime.ContentTypeProtobuf, k8sruntime.ContentTypeProtobuf
	if r.websites, err = versioned.NewForConfig(config); err != nil {
		return fmt.Errorf("creating a client of Websites: %w", err)
	}
	if r.kube, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	return nil
}

// client sends requests whose responses are not decoded.
type client struct {
	url  string
	http *http.Client
}

func newClient(config *rest.Config) (*client, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a transport: %w", err)
	}
	return &client{config.Host, transport}, nil
}

// get returns a response, whose body the caller closes. It returns an error for every status
// but 200.
func (c *client) get(ctx context.Context, path, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, fmt.Errorf("creating a request: %w", err)
	}
	request.Header.Set("Accept", accept)
	// Set, or the transport asks for gzip.
	request.Header.Set("Accept-Encoding", "identity")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("requesting %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("requesting %s: %s", path, response.Status)
	}
	return response, nil
}

// processes are the servers as they run now.
func (r *run) processes() measure.Processes {
	processes := measure.Processes{}
	for _, name := range []string{"kube-apiserver", apiServer, "etcd"} {
		processes[name] = r.cluster.Process(name).PID()
	}
	return processes
}
