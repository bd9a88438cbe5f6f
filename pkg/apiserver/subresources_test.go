package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

const (
	oldCommit = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
	newCommit = "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"
)

// newSite creates a Website that has published two commits.
func newSite(t *testing.T, server string) {
	t.Helper()
	created := send(t, http.MethodPost, path(server, "v1beta1", ""), jsonType,
		`{"metadata":{"name":"kubia"},"spec":{"source":{"git":{"repository":"https://example.com/site.git"}}}}`)
	if created.code != http.StatusCreated {
		t.Fatalf("creating answered %d %v", created.code, created.object)
	}
	patchStatus(t, server, `{"commit":"`+newCommit+`","history":[
		{"commit":"`+newCommit+`","cause":"Sync","publishedTime":"2026-01-02T00:00:00Z"},
		{"commit":"`+oldCommit+`","cause":"Poll","publishedTime":"2026-01-01T00:00:00Z"}]}`)
}

func patchStatus(t *testing.T, server, status string) {
	t.Helper()
	patched := send(t, http.MethodPatch, path(server, "v1beta1", "/kubia/status"), mergeType, `{"status":`+status+`}`)
	if patched.code != http.StatusOK {
		t.Fatalf("the status %s was answered with %d %v", status, patched.code, patched.object)
	}
}

// TestSyncSubresource sends the requests of deploy hooks.
func TestSyncSubresource(t *testing.T) {
	server := newServer(t)
	newSite(t, server)
	sync := func(query string) string { return path(server, "v1beta1", "/kubia/sync"+query) }

	if got := send(t, http.MethodGet, sync(""), jsonType, ""); got.code != http.StatusOK ||
		got.field("kind") != "WebsiteSyncRequest" || got.field("state") != "None" {
		t.Errorf("GET before a request answered %d %v, want state None", got.code, got.object)
	}
	// All others join the request for the newest commit.
	send(t, http.MethodPost, sync(""), "", "")
	bodies := map[string]struct {
		contentType, body string
		code              int
		want              string
	}{
		"no body": {code: http.StatusAccepted},
		"form of a git host": {contentType: "application/x-www-form-urlencoded", body: "payload=%7B%7D",
			code: http.StatusAccepted},
		"push of a git host": {contentType: jsonType, body: `{"ref":"refs/heads/main","commit":{"id":"x"}}`,
			code: http.StatusAccepted},
		"a list":  {contentType: jsonType, body: `["commit"]`, code: http.StatusAccepted},
		"no JSON": {contentType: "text/plain", body: `{"commit":`, code: http.StatusAccepted},
		"more than is read": {contentType: jsonType, body: `{"a":"` + strings.Repeat("a", 2<<20) + `"}`,
			code: http.StatusAccepted},
		"commit": {contentType: "text/plain", body: `{"commit":"` + oldCommit + `"}`,
			code: http.StatusAccepted},
		"abbreviated commit": {contentType: jsonType, body: `{"commit":"0a0a0a0"}`, code: http.StatusUnprocessableEntity,
			want: `commit: Invalid value: "0a0a0a0": must be the full name of a commit`},
		"commit of an unset $X": {contentType: jsonType, body: `{"commit":""}`, code: http.StatusUnprocessableEntity,
			want: "must be the full name of a commit"},
	}
	for name, test := range bodies {
		t.Run(name, func(t *testing.T) {
			got := send(t, http.MethodPost, sync(""), test.contentType, test.body)
			if got.code != test.code || !strings.Contains(fmt.Sprint(got.field("message")), test.want) && test.want != "" {
				t.Errorf("answered %d %v, want %d %s", got.code, got.object, test.code, test.want)
			}
			if test.code == http.StatusAccepted &&
				(got.field("state") != "Pending" || got.field("metadata", "name") != "kubia") {
				t.Errorf("answered %v, want the pending request", got.object)
			}
		})
	}
	if got := send(t, http.MethodGet, sync(""), jsonType, ""); got.field("state") != "Pending" || got.field("id") != 1. ||
		got.field("sync", "lastRequest", "id") != 1. {
		t.Errorf("GET after requests answered %v, want the pending one", got.object)
	}

	refused := map[string]struct {
		query string
		code  int
		want  string
	}{
		"wait of no number": {query: "?timeoutSeconds=soon", code: http.StatusBadRequest, want: "invalid syntax"},
		"wait too long": {query: "?timeoutSeconds=301", code: http.StatusUnprocessableEntity,
			want: "timeoutSeconds: Invalid value: 301: must be from 0 to 300"},
		"wait into the past": {query: "?timeoutSeconds=-1", code: http.StatusUnprocessableEntity,
			want: "timeoutSeconds: Invalid value: -1: must be from 0 to 300"},
		"dry run of nothing": {query: "?dryRun=Some", code: http.StatusUnprocessableEntity,
			want: `dryRun: Unsupported value: ["Some"]`},
	}
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			if got := send(t, http.MethodPost, sync(test.query), "", ""); got.code != test.code ||
				!strings.Contains(fmt.Sprint(got.field("message")), test.want) {
				t.Errorf("answered %d %v, want %d %s", got.code, got.field("message"), test.code, test.want)
			}
		})
	}
	if got := send(
		t, http.MethodPost, path(server, "v1beta1", "/missing/sync"), "", "",
	); got.code != http.StatusNotFound ||
		got.field("message") != `websites.mycontroller.nevermosby.io "missing" not found` {
		t.Errorf("a missing Website answered %d %v", got.code, got.field("message"))
	}
	if got := send(t, http.MethodPut, sync(""), jsonType, "{}"); got.code != http.StatusMethodNotAllowed {
		t.Errorf("PUT answered %d, want 405", got.code)
	}
}

// TestSyncWaitsOverOneConnection: a completed wait has no effect on later requests of an
// HTTP/1 connection, which has one deadline for all of its requests.
func TestSyncWaitsOverOneConnection(t *testing.T) {
	server := newServer(t)
	newSite(t, server)
	for _, body := range []string{"", `{"a":1}`} {
		for range 2 {
			got := send(t, http.MethodPost, path(server, "v1beta1", "/kubia/sync?timeoutSeconds=1"), jsonType, body)
			if got.code != http.StatusGatewayTimeout || got.field("reason") != "Timeout" {
				t.Errorf("a wait that is over answered %d %v, want 504", got.code, got.object)
			}
		}
	}
	requested := send(t, http.MethodGet, path(server, "v1beta1", "/kubia/sync"), jsonType, "").field("id")
	done := make(chan answer)
	go func() {
		done <- send(t, http.MethodPost, path(server, "v1beta1", "/kubia/sync?timeoutSeconds=50"), jsonType, "")
	}()
	patchStatus(t, server, fmt.Sprintf(`{"sync":{"startedID":%v}}`, requested))
	for {
		last := send(t, http.MethodGet, path(server, "v1beta1", "/kubia/sync"), jsonType, "").field("id")
		patchStatus(
			t, server, fmt.Sprintf(`{"sync":{"startedID":%v,"lastCompleted":{"id":%v,"time":"2026-01-02T00:00:00Z",`+
				`"result":"Succeeded"}}}`, last, last),
		)
		select {
		case got := <-done:
			if got.code != http.StatusOK || got.field("state") != "Succeeded" {
				t.Errorf("answered %d %v, want 200 and Succeeded", got.code, got.object)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestSyncOfASiteThatPublishesNothing: the response has a remedy.
func TestSyncOfASiteThatPublishesNothing(t *testing.T) {
	server := newServer(t)
	newSite(t, server)
	tests := map[string]struct {
		spec, query string
		code        int
		want        string
	}{
		"suspended": {spec: `{"suspend":true,"replicas":1}`, code: http.StatusUnprocessableEntity,
			want: "set spec.suspend to false"},
		"no pods": {spec: `{"suspend":false,"replicas":0}`, code: http.StatusUnprocessableEntity,
			want: "set spec.replicas to 1 or more"},
		"pinned": {spec: `{"suspend":false,"replicas":1,"pin":{"commit":"` + oldCommit + `"}}`,
			code: http.StatusAccepted},
		"pinned and waited": {spec: `{"suspend":false,"replicas":1,"pin":{"commit":"` + oldCommit + `"}}`,
			query: "?timeoutSeconds=1", code: http.StatusUnprocessableEntity, want: "remove spec.pin"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if patched := send(t, http.MethodPatch, path(server, "v1beta1", "/kubia"), mergeType,
				`{"spec":`+test.spec+`}`); patched.code != http.StatusOK {
				t.Fatalf("patching answered %d %v", patched.code, patched.object)
			}
			if got := send(t, http.MethodPost, path(server, "v1beta1", "/kubia/sync"+test.query), "",
				""); got.code != test.code || !strings.Contains(fmt.Sprint(got.field("message")), test.want) && test.want != "" {
				t.Errorf("answered %d %v, want %d %s", got.code, got.object, test.code, test.want)
			}
		})
	}
}

// TestRollbackSubresource rolls back, further and forward again.
func TestRollbackSubresource(t *testing.T) {
	server := newServer(t)
	newSite(t, server)
	rollback := func(query string) string { return path(server, "v1beta1", "/kubia/rollback"+query) }
	pin := func() any {
		return send(t, http.MethodGet, path(server, "v1beta1", "/kubia"), jsonType, "").field("spec", "pin", "commit")
	}

	if got := send(t, http.MethodPost, rollback("?dryRun=All"), jsonType, "{}"); got.code != http.StatusCreated ||
		got.field("commit") != oldCommit || pin() != nil {
		t.Errorf("a dry run answered %d %v, and the pin is %v", got.code, got.object, pin())
	}
	got := send(t, http.MethodPost, rollback("?fieldManager=desk"), jsonType, "{}")
	if got.code != http.StatusCreated || got.field("kind") != "WebsiteRollback" || got.field("commit") != oldCommit ||
		got.field("replacedCommit") != newCommit || got.field("metadata", "generation") != 2. || pin() != oldCommit {
		t.Fatalf("answered %d %v, and the pin is %v; want the release before", got.code, got.object, pin())
	}
	// The result is the same while the pods still serve the replaced commit.
	if got := send(t, http.MethodPost, rollback(""), jsonType, "{}"); got.code != http.StatusCreated ||
		got.field("commit") != oldCommit || got.field("metadata", "generation") != 2. {
		t.Errorf("the same again answered %d %v, want nothing to change", got.code, got.object)
	}
	const third = "0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c"
	if got := send(t, http.MethodPost, rollback(""), jsonType,
		`{"kind":"WebsiteRollback","apiVersion":"mycontroller.nevermosby.io/v1beta1","commit":"`+third+
			`"}`); got.code != http.StatusCreated || pin() != third {
		t.Errorf("to a commit answered %d %v, and the pin is %v", got.code, got.object, pin())
	}

	fields := send(t, http.MethodGet, path(server, "v1beta1", "/kubia"), jsonType, "").field("metadata", "managedFields")
	owners := map[string]bool{}
	for _, entry := range fields.([]any) {
		e := entry.(map[string]any)
		if fields := fmt.Sprint(e["fieldsV1"]); strings.Contains(fields, "f:pin") && strings.Contains(fields, "f:commit") {
			owners[fmt.Sprint(e["manager"], " ", e["operation"], " ", e["subresource"])] = true
		}
	}
	if len(owners) != 1 || !owners["website-apiserver Update rollback"] {
		t.Errorf("managers of spec.pin = %v, want only the last request's", owners)
	}

	refused := map[string]struct {
		query, body string
		code        int
		want        string
	}{
		"misspelt": {body: `{"comit":"` + third + `"}`, code: http.StatusBadRequest, want: `unknown field "comit"`},
		"no JSON":  {body: "x", code: http.StatusBadRequest, want: "must be of type WebsiteRollback"},
		"another kind": {body: `{"kind":"WebsiteSyncRequest","apiVersion":"mycontroller.nevermosby.io/v1beta1"}`,
			code: http.StatusBadRequest, want: "cannot be handled as a WebsiteRollback"},
		"another name": {body: `{"metadata":{"name":"x"}}`, code: http.StatusBadRequest,
			want: "name in URL does not match"},
		"another namespace": {body: `{"metadata":{"namespace":"x"}}`, code: http.StatusBadRequest,
			want: "does not match the namespace"},
		"another UID": {body: `{"metadata":{"uid":"x"}}`, code: http.StatusConflict, want: "UID"},
		"no commit by name": {body: `{"commit":""}`, code: http.StatusUnprocessableEntity,
			want: "must be the full name of a commit"},
		"too large": {body: `{"commit":"` + strings.Repeat("a", 2<<20) + `"}`, code: http.StatusUnprocessableEntity,
			want: "must be the full name of a commit"},
		"dry run of nothing": {query: "?dryRun=Some", code: http.StatusUnprocessableEntity,
			want: "dryRun: Unsupported value"},
		"long manager": {query: "?fieldManager=" + strings.Repeat("a", 129), code: http.StatusUnprocessableEntity,
			want: "fieldManager: Too long"},
	}
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			if got := send(t, http.MethodPost, rollback(test.query), jsonType, test.body); got.code != test.code ||
				!strings.Contains(fmt.Sprint(got.field("message")), test.want) {
				t.Errorf("answered %d %v, want %d %s", got.code, got.field("message"), test.code, test.want)
			}
		})
	}
	if got := send(t, http.MethodPost, path(server, "v1beta1", "/missing/rollback"), jsonType,
		"{}"); got.code != http.StatusNotFound {
		t.Errorf("a missing Website answered %d %v", got.code, got.field("message"))
	}
	created := send(t, http.MethodPost, path(server, "v1beta1", ""), jsonType,
		`{"metadata":{"name":"fresh"},"spec":{"source":{"git":{"repository":"https://example.com/site.git"}}}}`)
	if created.code != http.StatusCreated {
		t.Fatal(created.object)
	}
	if got := send(t, http.MethodPost, path(server, "v1beta1", "/fresh/rollback"), jsonType,
		"{}"); got.code != http.StatusUnprocessableEntity ||
		!strings.Contains(fmt.Sprint(got.field("message")), "contains no other release to roll back to") {
		t.Errorf("without a history: %d %v", got.code, got.field("message"))
	}
}

// TestDiscoveryOfSubresources: kubectl and RBAC tools read the verbs.
func TestDiscoveryOfSubresources(t *testing.T) {
	server := newServer(t)
	verbs := map[string]string{}
	for version := range map[string]bool{"v1alpha1": true, "v1beta1": true} {
		list := send(t, http.MethodGet, server+"/apis/"+website.GroupName+"/"+version, jsonType, "")
		for _, resource := range list.field("resources").([]any) {
			r := resource.(map[string]any)
			if name := fmt.Sprint(r["name"]); name == "websites/sync" || name == "websites/rollback" {
				verbs[version+" "+name] = fmt.Sprint(r["kind"], r["verbs"])
			}
		}
	}
	want := map[string]string{"v1beta1 websites/sync": "WebsiteSyncOptions[create get]",
		"v1beta1 websites/rollback": "WebsiteRollback[create]"}
	if fmt.Sprint(verbs) != fmt.Sprint(want) {
		t.Errorf("discovery = %v, want %v", verbs, want)
	}
	paths, _ := send(t, http.MethodGet, server+"/openapi/v3/apis/"+website.GroupName+"/v1beta1", jsonType,
		"").field("paths").(map[string]any)
	document := fmt.Sprint(paths["/apis/"+website.GroupName+"/v1beta1/namespaces/{namespace}/websites/{name}/sync"])
	for _, part := range []string{"V1beta1PostNamespacedWebsiteSync", "name:timeoutSeconds", "name:dryRun",
		"in seconds, from 0 to 300", "v1beta1.WebsiteSyncRequest", "requestBody", "202:"} {
		if !strings.Contains(document, part) {
			t.Errorf("OpenAPI of the subresource lacks %s: %s", part, document)
		}
	}
	document = fmt.Sprint(paths["/apis/"+website.GroupName+"/v1beta1/namespaces/{namespace}/websites/{name}/rollback"])
	for _, part := range []string{"V1beta1NamespacedWebsiteRollback", "requestBody", "v1beta1.WebsiteRollback",
		"name:dryRun", "name:fieldManager", "name:fieldValidation"} {
		if !strings.Contains(document, part) {
			t.Errorf("OpenAPI of the subresource rollback lacks %s: %s", part, document)
		}
	}
	paths, _ = send(t, http.MethodGet, server+"/openapi/v2", jsonType, "").field("paths").(map[string]any)
	document = fmt.Sprint(paths["/apis/"+website.GroupName+"/v1beta1/namespaces/{namespace}/websites/{name}/sync"])
	for _, part := range []string{"in:body", "202:", "v1beta1.WebsiteSyncRequest"} {
		if !strings.Contains(document, part) {
			t.Errorf("OpenAPI v2 of the subresource sync lacks %s: %s", part, document)
		}
	}
}
