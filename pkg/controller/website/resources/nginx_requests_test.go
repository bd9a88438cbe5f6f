package resources

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// requestTable is the specification of responses. A request is "METHOD path", GET by default, then
// its headers. A response is the status, then its headers, those without a value being absent, and at
// the end the body after a separate colon. Each header of a response is sent once, whether a row
// names it or not.
type requestTable struct {
	serving v1beta1.WebsiteServing
	// protected sites require a password, see passwordOfReader.
	protected bool
	// unpublished has no release yet.
	unpublished bool
	// files are the paths of the repository. Their content is "the content of" the path; a path that
	// ends in '/' is a directory.
	files []string
	// long repeats the content 50 times, so that it is worth compressing.
	long bool
	// kept are files of an earlier release, and unreadable the files that nginx may not read.
	kept, unreadable []string
	// want are the responses by request.
	want map[string]string
}

// passwordOfReader is the header with the password of a protected site.
const passwordOfReader = " | Authorization: Basic cmVhZGVyOnJpZ2h0"

// requestTables are in files of their own.
var requestTables = []map[string]requestTable{
	fileRequests, pathRequests, typeRequests, headerRequests, singlePageRequests,
}

func TestNginxRequests(t *testing.T) {
	for _, tables := range requestTables {
		for name, table := range tables {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := startNginx(t, withServing(table.serving), func(w *v1beta1.Website) {
					if table.protected {
						withUsers("readers")(w)
					}
				})
				s.lay(table)
				for request, want := range table.want {
					s.row(request, want)
				}
			})
		}
	}
}

// lay puts the files of a table where the agent would.
func (s *testSite) lay(table requestTable) {
	s.t.Helper()
	if table.protected {
		s.admit(userAndPassword("reader", "right"))
	}
	for _, file := range table.files {
		name, content := file, "the content of "+file
		switch {
		case strings.HasSuffix(file, "/"):
			s.mkdir("releases/" + commitA + "/" + file)
			continue
		case table.long:
			content = strings.Repeat(content+". ", 50)
		}
		s.write(commitA, name, content)
	}
	for _, file := range table.kept {
		s.keep(commitA, file, "the content of "+file)
	}
	for _, file := range table.unreadable {
		if err := os.Chmod(filepath.Join(s.root, "releases", commitA, file), 0); err != nil {
			s.t.Fatal(err)
		}
	}
	if s.commit = ""; !table.unpublished {
		s.commit = commitA
		s.publish("releases/" + commitA)
	}
}

// row sends the request of a row.
func (s *testSite) row(request, want string) {
	s.t.Helper()
	parts := strings.Split(request, " | ")
	method, path, named := strings.Cut(parts[0], " ")
	if !named {
		method, path = http.MethodGet, parts[0]
	}
	var headers []string
	for _, header := range parts[1:] {
		name, value, _ := strings.Cut(header, ": ")
		headers = append(headers, name, value)
	}
	response, body := s.do(method, s.http, path, headers...)
	for name, values := range response.Header {
		if len(values) > 1 {
			s.t.Errorf("%s: %s is sent more than once: %q", request, name, values)
		}
	}
	if got := response.Header.Get("Website-Commit"); got != s.commit {
		s.t.Errorf("%s: Website-Commit is %q", request, got)
	}
	for _, value := range response.Header.Values("Location") {
		if strings.ContainsFunc(value, func(r rune) bool { return r > '~' || r <= ' ' }) {
			s.t.Errorf("%s: Location %q is not ASCII", request, value)
		}
	}
	want, wantBody, hasBody := strings.Cut(want, " : ")
	wants := strings.Split(want, " | ")
	if got := fmt.Sprint(response.StatusCode); got != strings.TrimSpace(wants[0]) || hasBody && body != wantBody {
		s.t.Errorf("%s: %s %q, want %s %q", request, got, body, wants[0], wantBody)
	}
	for _, header := range wants[1:] {
		name, value, _ := strings.Cut(header, ":")
		if got := response.Header.Get(name); got != strings.TrimSpace(value) {
			s.t.Errorf("%s: %s is %q, want %q", request, name, got, strings.TrimSpace(value))
		}
	}
}
