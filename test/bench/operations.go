package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// measure runs one operation and takes its cost in the serving processes. operations is
// the number of them if it is not the number of requests.
func (e *environment) measure(t *target, run func() ([]measure.Response, int, error)) (sample, error) {
	received, sent := t.client.Received.Load(), t.client.Sent.Load()
	var s sample
	var responses []measure.Response
	var err error
	s.cpu, s.elapsed, err = e.processes.Used(func() (err error) {
		responses, s.operations, err = run()
		return err
	})
	if err != nil {
		return sample{}, err
	}
	s.received, s.sent = t.client.Received.Load()-received, t.client.Sent.Load()-sent
	for _, r := range responses {
		s.times = append(s.times, r.Total)
		s.body += r.Bytes
		if r.FirstByte > 0 {
			s.firstBytes = append(s.firstBytes, r.FirstByte)
		}
	}
	return s, nil
}

// concurrently returns the response of do for each number below n, from several clients with a connection each.
func concurrently(n, clients int, do func(connection, i int) (measure.Response, error)) ([]measure.Response, error) {
	responses := make([]measure.Response, n)
	return responses, measure.Concurrently(n, clients, func(connection, i int) (err error) {
		responses[i], err = do(connection, i)
		return err
	})
}

// objects measures the operations on single objects, from their creation to their deletion.
type objects struct {
	*run
	target *target
	names  []string
}

// objects measures all operations on single objects of one target.
func (r *run) objects(ctx context.Context, t *target, round int) error {
	o := objects{run: r, target: t}
	for i := range r.Options.Requests {
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
	for connection := range o.Options.Clients {
		if _, err := o.target.client.Do(ctx, connection,
			measure.Request{Method: http.MethodGet, Path: "/version", Accept: measure.JSON}); err != nil {
			return err
		}
	}
	return nil
}

// report sets the status of all objects, or makes them as large as with one, without a measurement: a Website
// has a status for nearly all of its time.
func (o *objects) report(ctx context.Context) error {
	return measure.Concurrently(len(o.names), o.Options.Clients, func(connection, i int) error {
		return o.target.report(ctx, connection, o.target.namespace, o.names[i])
	})
}

// each measures one prepared request per object, from all clients. Garbage is collected before, so that none pays
// for another operation, or for preparations.
func (o *objects) each(ctx context.Context, operation string, clients int,
	prepare func(name string) (measure.Request, error)) error {
	requests := make([]measure.Request, len(o.names))
	for i, name := range o.names {
		var err error
		if requests[i], err = prepare(name); err != nil {
			return err
		}
		requests[i].Accept = o.target.media
	}
	if _, err := o.heaps(ctx); err != nil {
		return err
	}
	s, err := o.environment.measure(o.target, func() ([]measure.Response, int, error) {
		responses, err := concurrently(len(requests), clients, func(connection, i int) (measure.Response, error) {
			return o.target.client.Do(ctx, connection, requests[i])
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
	return o.each(ctx, "create", o.Options.Clients, func(name string) (measure.Request, error) {
		body, err := t.manifest.encode(t.manifest.build(name), t.media)
		return measure.Request{Method: http.MethodPost, Path: t.path(t.namespace, "", ""), Body: body, ContentType: t.media},
			err
	})
}

func (o *objects) read(name string) (measure.Request, error) {
	return measure.Request{Method: http.MethodGet, Path: o.target.path(o.target.namespace, name, "")}, nil
}

func (o *objects) get(ctx context.Context) error {
	return o.each(ctx, "get", o.Options.Clients, o.read)
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
	return o.each(ctx, "patch", o.Options.Clients, func(name string) (measure.Request, error) {
		return measure.Request{Method: http.MethodPatch, Path: t.path(t.namespace, name, ""), Body: body,
				ContentType: measure.MergePatch},
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
	return o.each(ctx, "server-side apply", o.Options.Clients, func(name string) (measure.Request, error) {
		body, err := json.Marshal(t.manifest.build(name))
		if err == nil && t.manifest.grown != nil {
			body, err = jsonpatch.MergePatch(body, grown)
		}
		path := t.path(t.namespace, name, "") + "?fieldManager=website-bench-apply&force=true"
		return measure.Request{Method: http.MethodPatch, Path: path, Body: body, ContentType: measure.ApplyPatch}, err
	})
}

// status replaces the status of objects that were read before, as controllers do.
func (o *objects) status(ctx context.Context) error {
	t := o.target
	if t.manifest.status == nil {
		return nil
	}
	return o.each(ctx, "status update", o.Options.Clients, func(name string) (measure.Request, error) {
		body, err := t.client.Read(ctx, measure.Request{Method: http.MethodGet, Path: t.path(t.namespace, name, ""),
			Accept: measure.JSON})
		if err != nil {
			return measure.Request{}, err
		}
		var read object
		if err := json.Unmarshal(body, &read); err != nil {
			return measure.Request{}, fmt.Errorf("decoding %s: %w", name, err)
		}
		status, _ := read["status"].(object)
		if status == nil {
			status = object{}
		}
		maps.Copy(status, t.manifest.status)
		read["status"] = status
		body, err = t.manifest.encode(read, t.media)
		return measure.Request{Method: http.MethodPut, Path: t.path(t.namespace, name, "status"), Body: body,
				ContentType: t.media},
			err
	})
}

func (o *objects) delete(ctx context.Context) error {
	return o.each(ctx, "delete", o.Options.Clients, func(name string) (measure.Request, error) {
		return measure.Request{Method: http.MethodDelete, Path: o.target.path(o.target.namespace, name, "")}, nil
	})
}
