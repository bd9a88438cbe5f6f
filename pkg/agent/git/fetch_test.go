package git

import (
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"testing"
)

func pemOf(certificate []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
}

// errText is the text of git.
func errText(err error) string {
	var typed *Error
	if errors.As(err, &typed) {
		return string(typed.Reason) + ": " + typed.Text
	}
	return ""
}

// random cannot be compressed.
func random(size int) string {
	data := make([]byte, size)
	_, _ = rand.Read(data)
	data[0] = 'r' // No mark of a link.
	return string(data)
}

// TestFetch publishes what each kind of server has, of all of the repository and of a path, before and after a push.
func TestFetch(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	pushes := []files{
		{"public/a b é/index.html": "one", "public/a b é/gone": "x", "other": random(100_000)},
		{"public/a b é/index.html": "two", "public/a b é/new": "n", "other": random(100_000)},
	}
	var commits []string
	for i, content := range pushes {
		commits = append(commits, o.commitTo(fmt.Sprint(i), content))
	}
	o.git(nil, "update-server-info")
	for name, how := range map[string]func(*server){
		"git":                     func(*server) {},
		"TLS":                     overTLS,
		"without filters":         with(without("filter")),
		"without shallow fetches": with(without("shallow")),
		"dumb":                    dumb,
	} {
		for _, path := range []string{"", "public/a b é"} {
			t.Run(name+" "+path, func(t *testing.T) {
				t.Parallel()
				s := o.serve(how)
				r := newRepository(t, s.url(o), ofPath(path))
				if s.TLS != nil {
					r.CAFile = s.caFile(t)
				}
				for i, content := range pushes {
					tree, got := r.sync(t, fmt.Sprintf("refs/heads/%d", i))
					want := maps.Clone(content)
					if path != "" {
						delete(want, "other")
					}
					if tree.Commit != commits[i] || !maps.Equal(got, want) {
						t.Errorf("commit %s with %d files, want %s with %d", tree.Commit, len(got), commits[i], len(want))
					}
				}
			})
		}
	}
}

// asError returns the typed error, or an empty one.
func asError(err error) *Error {
	typed := &Error{}
	errors.As(err, &typed)
	return typed
}
