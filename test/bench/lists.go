package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// pageSize is the page size of client-go's pager and of kubectl.
const pageSize = 500

// listForm is one way to list objects.
type listForm struct {
	name string
	// namespace is empty for all namespaces.
	namespace string
	table     bool
	gzip      bool
	query     url.Values
}

func listForms(o measure.Options) []listForm {
	cached, consistent := url.Values{"resourceVersion": {"0"}}, url.Values{}
	one, all := strconv.Itoa(o.Websites), strconv.Itoa(o.Websites*len(dataNamespaces))
	forms := []listForm{
		{name: "list " + one, namespace: dataNamespaces[0], query: cached},
		{name: "list " + all, query: cached},
		{name: "list " + all + ", consistent", query: consistent},
		{name: "list " + all + " as Table", table: true, query: cached},
	}
	if !o.Quick {
		forms = append(forms,
			listForm{name: "list " + one + ", consistent", namespace: dataNamespaces[0], query: consistent},
			listForm{name: "list " + one + " as Table", namespace: dataNamespaces[0], table: true, query: cached},
			listForm{name: "list " + all + ", gzip", gzip: true, query: cached})
	}
	return forms
}

// firstLists lists objects that were never listed, in each format once. website-apiserver keeps
// the encoded objects for the lists that follow.
func (r *run) firstLists(ctx context.Context, data string) error {
	for _, t := range r.environment.targets {
		if t.data != data || t.client != r.environment.proxied {
			continue
		}
		if _, err := r.heaps(ctx); err != nil {
			return err
		}
		s, err := r.list(ctx, t, listForm{query: url.Values{"resourceVersion": {"0"}}}, 1)
		if err != nil {
			return fmt.Errorf("%s: first list: %w", t.name, err)
		}
		r.firsts[t.name] = s
	}
	return nil
}

// lists measures all forms of lists of one target, one list after the other.
func (r *run) lists(ctx context.Context, t *target) error {
	for _, form := range listForms(r.Options) {
		// A Table is always JSON.
		if form.table && t.media != measure.JSON {
			continue
		}
		s, err := r.list(ctx, t, form, r.Options.Lists)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", t.name, form.name, err)
		}
		r.records.add(form.name, t.name, s)
	}
	if first, ok := r.firsts[t.name]; ok {
		r.records.add(fmt.Sprintf("list %d, the first", r.Options.Websites*len(dataNamespaces)), t.name, first)
		delete(r.firsts, t.name)
	}
	return r.pages(ctx, t)
}

// list measures n lists of one form, one after the other.
func (r *run) list(ctx context.Context, t *target, form listForm, n int) (sample, error) {
	list := measure.Request{Method: http.MethodGet, Path: t.path(form.namespace, "", "") + "?" + form.query.Encode(),
		Accept: t.media, Gzip: form.gzip}
	if form.table {
		list.Accept = measure.Table
	}
	return r.environment.measure(t, func() ([]measure.Response, int, error) {
		responses, err := concurrently(n, 1,
			func(connection, _ int) (measure.Response, error) { return t.client.Do(ctx, connection, list) })
		return responses, len(responses), err
	})
}

// pages measures lists in pages, as informers of client-go without WatchList make them.
func (r *run) pages(ctx context.Context, t *target) error {
	// The token of the next page is read from a response, so bodies are kept: only JSON.
	if t.media != measure.JSON {
		return nil
	}
	operation := fmt.Sprintf("list %d in pages of %d", r.Options.Websites, pageSize)
	s, err := r.environment.measure(t, func() ([]measure.Response, int, error) {
		responses, err := concurrently(r.Options.Lists, 1,
			func(int, int) (measure.Response, error) { return t.listInPages(ctx) })
		return responses, len(responses), err
	})
	if err != nil {
		return fmt.Errorf("%s: %s: %w", t.name, operation, err)
	}
	r.records.add(operation, t.name, s)
	return nil
}

// listInPages lists one namespace.
func (t *target) listInPages(ctx context.Context) (measure.Response, error) {
	var all measure.Response
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for {
		begin := time.Now()
		body, err := t.client.Read(
			ctx, measure.Request{Method: http.MethodGet, Path: t.path(dataNamespaces[0], "", "") + "?" + query.Encode(),
				Accept: t.media},
		)
		if err != nil {
			return all, err
		}
		all.Total += time.Since(begin)
		all.Bytes += int64(len(body))
		token, err := continueToken(body)
		if err != nil || token == "" {
			return all, err
		}
		query.Set("continue", token)
	}
}

// continueToken returns metadata.continue of a list. It decodes only the metadata, which
// precedes the items or, of a definition, follows them.
func continueToken(list []byte) (string, error) {
	const member = `"continue":"`
	i := bytes.LastIndex(list, []byte(member))
	if i < 0 {
		return "", nil
	}
	value := list[i+len(member)-1:]
	end := bytes.IndexByte(value[1:], '"')
	if end < 0 {
		return "", errors.New("the list ends in its metadata")
	}
	var token string
	if err := json.Unmarshal(value[:end+2], &token); err != nil {
		return "", fmt.Errorf("decoding the token of the next page: %w", err)
	}
	return token, nil
}
