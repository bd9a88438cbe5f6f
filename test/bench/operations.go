package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// measure runs one operation and takes what it costs the serving processes. operations is
// the number of them if it is not the number of requests.
func (e *environment) measure(t *target, run func() ([]response, int, error)) (sample, error) {
	before, err := e.processes.CPU()
	if err != nil {
		return sample{}, err
	}
	received, sent := t.client.received.Load(), t.client.sent.Load()
	begin := time.Now()
	responses, operations, err := run()
	if err != nil {
		return sample{}, err
	}
	s := sample{operations: operations, elapsed: time.Since(begin), received: t.client.received.Load() - received,
		sent: t.client.sent.Load() - sent}
	if s.cpu, err = e.processes.CPU(); err != nil {
		return sample{}, err
	}
	for name := range s.cpu {
		s.cpu[name] -= before[name]
	}
	for _, r := range responses {
		s.times = append(s.times, r.total)
		s.body += r.bytes
		if r.firstByte > 0 {
			s.firstBytes = append(s.firstBytes, r.firstByte)
		}
	}
	return s, nil
}

// concurrently calls do for each number below n, from several clients with a connection each.
func concurrently(n, clients int, do func(connection, i int) (response, error)) ([]response, error) {
	responses := make([]response, n)
	var next atomic.Int64
	var failure atomic.Pointer[error]
	var running sync.WaitGroup
	for connection := range clients {
		running.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || failure.Load() != nil {
					return
				}
				var err error
				if responses[i], err = do(connection, i); err != nil {
					failure.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	running.Wait()
	if err := failure.Load(); err != nil {
		return nil, *err
	}
	return responses, nil
}

// objects measures what is done with single objects, from their creation to their deletion.
type objects struct {
	*run
	target *target
	names  []string
}

// objects measures all operations on single objects of one target.
func (r *run) objects(ctx context.Context, t *target, round int) error {
	o := objects{run: r, target: t}
	for i := range r.options.Requests {
		o.names = append(o.names, fmt.Sprintf("r%d-%d", round, i))
	}
	for _, step := range []func(context.Context) error{o.connect, o.create, o.report, o.get, o.getInTurn, o.patch, o.apply,
		o.status, o.delete} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// connect has all connections open before the first measurement: idle ones end after 90 seconds.
func (o *objects) connect(ctx context.Context) error {
	for connection := range o.options.Clients {
		if _, err := o.target.client.do(ctx, connection,
			request{method: http.MethodGet, path: "/version", accept: jsonType}); err != nil {
			return err
		}
	}
	return nil
}

// report sets the status of all objects, or makes them as large as with one, without a measurement: a Website
// has a status for nearly all of its time.
func (o *objects) report(ctx context.Context) error {
	_, err := concurrently(len(o.names), o.options.Clients, func(connection, i int) (response, error) {
		return response{}, o.target.report(ctx, connection, o.target.namespace, o.names[i])
	})
	return err
}

// each measures one prepared request per object, from all clients. Garbage is collected before, so that none pays
// for another operation, or for what is prepared.
func (o *objects) each(ctx context.Context, operation string, clients int,
	prepare func(name string) (request, error)) error {
	requests := make([]request, len(o.names))
	for i, name := range o.names {
		var err error
		if requests[i], err = prepare(name); err != nil {
			return err
		}
		requests[i].accept = o.target.media
	}
	if _, err := o.heaps(ctx); err != nil {
		return err
	}
	s, err := o.environment.measure(o.target, func() ([]response, int, error) {
		responses, err := concurrently(len(requests), clients, func(connection, i int) (response, error) {
			return o.target.client.do(ctx, connection, requests[i])
		})
		return responses, len(requests), err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	// Bodies of single objects are so small that their first byte says nothing more.
	s.firstBytes = nil
	o.records.add(operation, o.target.name, s)
	return nil
}

func (o *objects) create(ctx context.Context) error {
	t := o.target
	return o.each(ctx, "create", o.options.Clients, func(name string) (request, error) {
		body, err := t.manifest.encode(t.manifest.build(name), t.media)
		return request{method: http.MethodPost, path: t.path(t.namespace, "", ""), body: body, contentType: t.media}, err
	})
}

func (o *objects) read(name string) (request, error) {
	return request{method: http.MethodGet, path: o.target.path(o.target.namespace, name, "")}, nil
}

func (o *objects) get(ctx context.Context) error {
	return o.each(ctx, "get", o.options.Clients, o.read)
}

func (o *objects) getInTurn(ctx context.Context) error {
	return o.each(ctx, "get, sequential", 1, o.read)
}

func (o *objects) patch(ctx context.Context) error {
	t := o.target
	body, err := json.Marshal(t.manifest.changed)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	return o.each(ctx, "patch", o.options.Clients, func(name string) (request, error) {
		return request{method: http.MethodPatch, path: t.path(t.namespace, name, ""), body: body, contentType: mergePatch},
			nil
	})
}

// apply applies the whole manifest, as kubectl apply --server-side does, with the padding that objects have by then.
func (o *objects) apply(ctx context.Context) error {
	t := o.target
	grown, err := json.Marshal(t.manifest.grown)
	if err != nil {
		return fmt.Errorf("encoding the padding: %w", err)
	}
	return o.each(ctx, "server-side apply", o.options.Clients, func(name string) (request, error) {
		body, err := json.Marshal(t.manifest.build(name))
		if err == nil && t.manifest.grown != nil {
			body, err = jsonpatch.MergePatch(body, grown)
		}
		path := t.path(t.namespace, name, "") + "?fieldManager=website-bench-apply&force=true"
		return request{method: http.MethodPatch, path: path, body: body, contentType: applyPatch}, err
	})
}

// status replaces the status of objects that were read before, as controllers do.
func (o *objects) status(ctx context.Context) error {
	t := o.target
	if t.manifest.status == nil {
		return nil
	}
	return o.each(ctx, "status update", o.options.Clients, func(name string) (request, error) {
		body, err := t.client.read(ctx, request{method: http.MethodGet, path: t.path(t.namespace, name, ""),
			accept: jsonType})
		if err != nil {
			return request{}, err
		}
		var read object
		if err := json.Unmarshal(body, &read); err != nil {
			return request{}, fmt.Errorf("decoding %s: %w", name, err)
		}
		status, _ := read["status"].(object)
		if status == nil {
			status = object{}
		}
		maps.Copy(status, t.manifest.status)
		read["status"] = status
		body, err = t.manifest.encode(read, t.media)
		return request{method: http.MethodPut, path: t.path(t.namespace, name, "status"), body: body, contentType: t.media},
			err
	})
}

func (o *objects) delete(ctx context.Context) error {
	return o.each(ctx, "delete", o.options.Clients, func(name string) (request, error) {
		return request{method: http.MethodDelete, path: o.target.path(o.target.namespace, name, "")}, nil
	})
}
