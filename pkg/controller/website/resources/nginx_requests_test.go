package resources

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources/requesttest"
)

// TestNginxRequests sends the requests of all tables. TestRequestsOfPods does so with real pods.
func TestNginxRequests(t *testing.T) {
	tables, err := requesttest.Tables()
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startNginx(t, withServing(table.Serving), func(w *v1beta1.Website) {
				if table.Protected {
					withUsers("readers")(w)
				}
			})
			commit := s.lay(table)
			for row, want := range table.Want {
				s.row(row, want, commit)
			}
		})
	}
}

// lay puts the files of a table where the agent would, and returns the commit that is then served.
func (s *testSite) lay(table requesttest.Table) string {
	s.t.Helper()
	if table.Protected {
		s.admit(userAndPassword(requesttest.User, requesttest.Password))
	}
	for _, file := range table.Files {
		if strings.HasSuffix(file, "/") {
			s.mkdir("releases/" + commitA + "/" + file)
			continue
		}
		s.write(commitA, file, table.Content(file))
	}
	for _, file := range table.Kept {
		s.keep(commitA, file, table.Content(file))
	}
	for _, file := range table.Unreadable {
		if err := os.Chmod(filepath.Join(s.root, "releases", commitA, file), 0); err != nil {
			s.t.Fatal(err)
		}
	}
	if table.Unpublished {
		return ""
	}
	s.publish("releases/" + commitA)
	return commitA
}

// row sends the request of a row.
func (s *testSite) row(row, want, commit string) {
	s.t.Helper()
	request, err := requesttest.NewRequest(s.t.Context(), "http://"+s.http, row)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, difference := range requesttest.Check(row, want, commit, response, string(body)) {
		s.t.Error(difference)
	}
}
