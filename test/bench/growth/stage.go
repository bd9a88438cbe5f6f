package growth

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// stage measures all with so many Websites.
func (r *run) stage(ctx context.Context, size int) (*Stage, error) {
	s := &Stage{Websites: size}
	for _, step := range []struct {
		name string
		run  func(context.Context, *Stage) error
	}{
		{"creating Websites", r.create},
		{"changing Websites", r.change},
		{"listing all Websites", r.listAll},
		{"listing one namespace", r.listNamespace},
		{"reading the memory", r.memory},
		{"reading the size of the store", r.store},
		{"restarting " + apiServer, r.restart},
	} {
		r.Progress("%d Websites: %s", size, step.name)
		if err := step.run(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return s, nil
}

// cpu returns the CPU time that the servers take for what run does.
func (r *run) cpu(run func() error) (total time.Duration, err error) {
	used, _, err := r.processes().Used(run)
	for _, duration := range used {
		total += duration
	}
	return total, err
}

// get is a request whose response is protobuf.
func get(path string) measure.Request {
	return measure.Request{Method: http.MethodGet, Path: path, Accept: measure.Protobuf}
}

func websitesPath(namespace string) string {
	path := "/apis/" + v1beta1.SchemeGroupVersion.String()
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/websites?resourceVersion=0"
}

// listAll also measures a list before any other since the start of website-apiserver, which keeps nothing encoded then.
func (r *run) listAll(ctx context.Context, s *Stage) error {
	first, err := r.list(ctx, "", 1)
	if err != nil {
		return err
	}
	s.add("first list of all, ms", first.millis)
	s.add("first list of all, CPU ms", first.cpuMillis)
	all, err := r.list(ctx, "", r.Options.Lists)
	s.add("list of all, ms", all.millis)
	s.add("list of all, ms to the header", all.headerMillis)
	s.add("list of all, CPU ms", all.cpuMillis)
	s.addSize("list of all", all.bytes)
	return err
}

func (r *run) listNamespace(ctx context.Context, s *Stage) error {
	one, err := r.list(ctx, namespaceOf(0, r.Options.PerNamespace), r.Options.Lists)
	s.add("list of a namespace, ms", one.millis)
	s.add("list of a namespace, CPU ms", one.cpuMillis)
	return err
}

// lists are medians of some lists.
type lists struct {
	millis, headerMillis, cpuMillis float64
	bytes                           int64
}

// list measures lists from the watch cache, as protobuf.
func (r *run) list(ctx context.Context, namespace string, n int) (lists, error) {
	var l lists
	var totals, firsts, cpu []float64
	for range n {
		used, err := r.cpu(func() error {
			begin := time.Now()
			response, err := r.proxied.Send(ctx, 0, get(websitesPath(namespace)))
			if err != nil {
				return err
			}
			firsts = append(firsts, measure.Milliseconds(time.Since(begin)))
			l.bytes, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if err != nil {
				return fmt.Errorf("reading a list: %w", err)
			}
			totals = append(totals, measure.Milliseconds(time.Since(begin)))
			return nil
		})
		if err != nil {
			return l, err
		}
		cpu = append(cpu, measure.Milliseconds(used))
	}
	l.millis, l.headerMillis, l.cpuMillis = measure.Median(totals), measure.Median(firsts), measure.Median(cpu)
	return l, nil
}

// memory reads the resident memory as it is, and then the live heap after a garbage collection.
func (r *run) memory(ctx context.Context, s *Stage) error {
	resident, _, err := r.processes().Memory()
	if err != nil {
		return err
	}
	for _, server := range []struct {
		name   string
		client *measure.Client
	}{{apiServer, r.direct}, {"kube-apiserver", r.proxied}} {
		heap, err := server.client.LiveHeap(ctx, "")
		if err != nil {
			return fmt.Errorf("reading the heap of %s: %w", server.name, err)
		}
		s.addSize(server.name+", live heap", heap)
		s.addSize(server.name+", resident", resident[server.name])
	}
	s.addSize("etcd of kube-apiserver, resident", resident["etcd"])
	return nil
}

// store reads the size of the database of the embedded etcd.
func (r *run) store(ctx context.Context, s *Stage) error {
	endpoint, err := embeddedetcd.Endpoint(r.Cluster.WebsiteDataDir())
	if err != nil {
		return err
	}
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: dialTimeout})
	if err != nil {
		return fmt.Errorf("connecting to etcd: %w", err)
	}
	defer func() { _ = etcd.Close() }()
	status, err := etcd.Status(ctx, endpoint)
	if err != nil {
		return fmt.Errorf("reading the size of the database: %w", err)
	}
	s.addSize("embedded etcd, database in use", status.DbSizeInUse)
	s.addSize("embedded etcd, database file", status.DbSize)
	return nil
}

const (
	dialTimeout = 10 * time.Second
	// restartTimeout is more than a start with an empty disk cache takes.
	restartTimeout = 5 * time.Minute
	pollPeriod     = 20 * time.Millisecond
)

// restart measures from the start of the process until it lists from its cache, and until
// kube-apiserver does so through it.
func (r *run) restart(ctx context.Context, s *Stage) error {
	server := r.Cluster.Process(apiServer)
	if err := server.Stop(ctx); err != nil {
		return err
	}
	begin := time.Now()
	if err := server.Start(ctx); err != nil {
		return err
	}
	for _, way := range []struct {
		client *measure.Client
		name   string
	}{{r.direct, "restart until it lists, s"}, {r.proxied, "restart until kube-apiserver lists, s"}} {
		if err := measure.Await(ctx, "it lists Websites", restartTimeout, pollPeriod, func() error {
			_, err := way.client.Read(ctx, get(websitesPath(probeNamespace)))
			return err
		}); err != nil {
			return err
		}
		s.add(way.name, time.Since(begin).Seconds())
	}
	used, err := measure.Processes{apiServer: server.PID()}.CPU()
	s.add("restart, CPU s", used[apiServer].Seconds())
	return err
}
