// Package requesttest is the specification of responses: tables of requests that nginx answers with the rendered
// configuration, and the pods of a Website.
package requesttest

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

//go:embed *.yaml
var files embed.FS

// These are the user and the password in the rows of protected sites.
const (
	User     = "reader"
	Password = "right"
)

// Table has the requests to one site. A request is "METHOD path", GET by default, then its headers. A response is the
// status, then its headers, those without a value being absent, and at the end the body after a separate colon. Each
// header of a response is sent once, whether a row names it or not.
type Table struct {
	Serving v1beta1.WebsiteServing `json:"serving"`
	// Protected sites require Password.
	Protected bool `json:"protected"`
	// Unpublished sites have no release yet.
	Unpublished bool `json:"unpublished"`
	// Files are the paths of the repository. A path that ends in '/' is a directory.
	Files []string `json:"files"`
	// Long repeats the content of the files 50 times, so that it is worth compressing.
	Long bool `json:"long"`
	// Kept are files of an earlier release, and Unreadable the files that nginx may not read.
	Kept       []string `json:"kept"`
	Unreadable []string `json:"unreadable"`
	// Want are the responses by request.
	Want map[string]string `json:"want"`
}

// Tables returns all tables by name.
func Tables() (map[string]Table, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
	tables := map[string]Table{}
	return tables, yaml.UnmarshalStrict(all, &tables)
}

// Content returns the content of a file.
func (t Table) Content(file string) string {
	content := "the content of " + file
	if t.Long {
		return strings.Repeat(content+". ", 50)
	}
	return content
}

// NewRequest returns the request of a row to the server with a URL.
func NewRequest(ctx context.Context, url, row string) (*http.Request, error) {
	parts := strings.Split(row, " | ")
	method, path, named := strings.Cut(parts[0], " ")
	if !named {
		method, path = http.MethodGet, parts[0]
	}
	request, err := http.NewRequestWithContext(ctx, method, url+path, nil)
	if err != nil {
		return nil, err
	}
	for _, header := range parts[1:] {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	return request, nil
}

// Check compares the response to a row, of a site that serves a commit, with the wanted one. It returns the
// differences.
func Check(row, want, commit string, response *http.Response, body string) (differences []string) {
	differ := func(format string, args ...any) {
		differences = append(differences, row+": "+fmt.Sprintf(format, args...))
	}
	for name, values := range response.Header {
		if len(values) > 1 {
			differ("%s is sent more than once: %q", name, values)
		}
	}
	if got := response.Header.Get("Website-Commit"); got != commit {
		differ("Website-Commit is %q", got)
	}
	if location := response.Header.Get("Location"); strings.ContainsFunc(location, func(r rune) bool {
		return r > '~' || r <= ' '
	}) {
		differ("Location %q is not ASCII", location)
	}
	want, wantBody, hasBody := strings.Cut(want, " : ")
	wants := strings.Split(want, " | ")
	if got := fmt.Sprint(response.StatusCode); got != strings.TrimSpace(wants[0]) || hasBody && body != wantBody {
		differ("%s %q, want %s %q", got, body, wants[0], wantBody)
	}
	for _, header := range wants[1:] {
		name, value, _ := strings.Cut(header, ":")
		got := response.Header.Get(name)
		if value = strings.TrimSpace(value); got != value && (got == "" || value != "(any)") {
			differ("%s is %q, want %q", name, got, value)
		}
	}
	return differences
}
