package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// silent says nothing until the client gives up.
func silent(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// afterSilence answers late.
func afterSilence(d time.Duration) fault {
	return func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		time.Sleep(d)
		git.ServeHTTP(w, r)
	}
}

// cutOff ends the connection after some bytes, or stalls.
type cutOff struct {
	http.ResponseWriter
	left   int
	stalls <-chan struct{}
}

func (c *cutOff) Write(data []byte) (int, error) {
	if len(data) > c.left {
		_, _ = c.ResponseWriter.Write(data[:c.left])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		if c.stalls != nil {
			<-c.stalls
		}
		panic(http.ErrAbortHandler)
	}
	c.left -= len(data)
	return c.ResponseWriter.Write(data)
}

func cut(after int, stalls bool) fault {
	return func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		c := &cutOff{ResponseWriter: w, left: after}
		if stalls {
			c.stalls = r.Context().Done()
		}
		git.ServeHTTP(c, r)
	}
}

// endlessReferences never ends its list of references.
func endlessReferences(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000")
	for i := 0; r.Context().Err() == nil; i++ {
		line := fmt.Sprintf("%040x refs/heads/%04000d\n", i+1, i)
		if _, err := fmt.Fprintf(w, "%04x%s", len(line)+4, line); err != nil {
			return
		}
	}
}

// endlessPack sends a pack of one object without end.
func endlessPack(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	send := func(data string) error {
		_, err := fmt.Fprintf(w, "%04x%s", len(data)+4, data)
		return err
	}
	if body, _ := io.ReadAll(r.Body); !bytes.Contains(body, []byte("0009done\n")) {
		_ = send("acknowledgments\n")
		_ = send("ready\n")
		_, _ = io.WriteString(w, "0001")
	}
	_ = send("packfile\n")
	// A file of 2^53 bytes, not compressed.
	_ = send("\x01PACK\x00\x00\x00\x02\x00\x00\x00\x01" + "\xb0\x80\x80\x80\x80\x80\x80\x01" + "\x78\x01")
	data := strings.Repeat("x", 0x7ff0)
	for r.Context().Err() == nil {
		if send("\x01\x00\xf0\x7f\x0f\x80"+data) != nil {
			return
		}
	}
}

const page = "<html><head><title>Sign in</title></head><body>please</body></html>"

// TestRemotes: the error names the fault of the remote, and after its repair the next fetch succeeds in the same
// directory.
func TestRemotes(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(files{"index.html": "one"})
	o.commitTo("two", files{"index.html": "two", "random": random(100_000)})
	three := files{"index.html": "three"}
	o.commitTo("three", three)
	o.git(nil, "tag", "file", "main:index.html")
	synced := newRepository(t, o.serve().url(o))
	synced.sync(t, "HEAD")
	const advertisement, result = "Content-Type: application/x-git-upload-pack-advertisement",
		"Content-Type: application/x-git-upload-pack-result"
	for name, test := range map[string]struct {
		fault fault
		how   func(*server)
		// tweak changes the options for the fault only.
		tweak func(t *testing.T, s *server, o *Options)
		ref   string
		want  []Reason
	}{
		"refused": {tweak: func(t *testing.T, _ *server, o *Options) {
			o.URL = "http://" + unusedAddress(t) + "/site.git"
		}, want: []Reason{ReasonUnreachable}},
		"no such host": {tweak: func(_ *testing.T, _ *server, o *Options) {
			o.URL = "http://git.invalid/site.git"
		}, want: []Reason{ReasonUnreachable}},
		"no such proxy": {tweak: func(_ *testing.T, _ *server, o *Options) {
			o.Proxy.HTTP = "http://proxy.invalid:1"
		}, want: []Reason{ReasonUnreachable}},
		"silent":                  {fault: silent, tweak: impatient, want: []Reason{ReasonTimedOut}},
		"silent before the pack":  {fault: packs(silent), tweak: impatient, want: []Reason{ReasonTimedOut}},
		"stalled within the pack": {fault: packs(cut(2000, true)), tweak: impatient, want: []Reason{ReasonTimedOut}},
		"cut off within the pack": {fault: packs(cut(2000, false)), want: []Reason{ReasonUnreachable}},
		"cut off":                 {fault: cut(5, false), want: []Reason{ReasonUnreachable}},
		"slow to answer":          {fault: packs(afterSilence(1500 * time.Millisecond))},
		"status 429": {fault: answersWith(429, "Retry-After: 60", "slow down"),
			want: []Reason{ReasonUnreachable}},
		"status 500": {fault: answersWith(500, "Content-Type: text/html", page),
			want: []Reason{ReasonUnreachable}},
		"status 403": {fault: answersWith(403, "Content-Type: text/html", page),
			want: []Reason{ReasonAuthentication}},
		"status 404": {fault: answersWith(404, "Content-Type: text/html", page),
			want: []Reason{ReasonNotFound}},
		"status 401": {fault: answersWith(401, "WWW-Authenticate: Basic realm=x", ""),
			want: []Reason{ReasonAuthentication}},
		"no repository, in words": {fault: answersWith(404, "Content-Type: text/plain", "Repository not found.\n"),
			want: []Reason{ReasonNotFound}},
		"no project, in words": {fault: answersWith(404, "Content-Type: text/plain",
			"The project you were looking for could not be found.\n"), want: []Reason{ReasonNotFound}},
		"a page of one line": {fault: answersWith(200, "Content-Type: text/html", page),
			want: []Reason{ReasonWebPage}},
		"a page of many lines": {fault: answersWith(200, "Content-Type: text/html; charset=utf-8",
			strings.Repeat(page+"\n", 20)), want: []Reason{ReasonWebPage}},
		"a page after a redirect": {fault: toLogin, want: []Reason{ReasonWebPage}},
		"a page without a type": {fault: answersWith(200, "X: y", strings.Repeat("not git\n", 20)),
			want: []Reason{ReasonWebPage}},
		"a page in place of the pack": {fault: packs(answersWith(200, "Content-Type: text/html", page)),
			want: []Reason{ReasonWebPage}},
		"redirected":             {fault: moved(false)},
		"redirected without end": {fault: moved(true), want: []Reason{ReasonUnreachable}},
		"redirected to http":     {how: overTLS, fault: toHTTP, want: []Reason{ReasonDowngrade, ReasonUnreachable}},
		"no protocol": {fault: answersWith(200, advertisement, strings.Repeat("\x00\xff", 1<<16)),
			want: []Reason{ReasonUnreachable, ReasonUnknown}},
		"damaged objects": {
			fault: packs(answersWith(200, result, "000dpackfile\n0015\x01PACK\x00\x00\x00\x02\x00\x00\x00\x05x0000")),
			want:  []Reason{ReasonUnreachable, ReasonUnknown},
		},
		"damaged objects, and many more": {
			fault: packs(answersWith(200, result, "000dpackfile\n0015\x01PACK\x00\x00\x00\x02\x00\x00\x00\x05x"+
				strings.Repeat("fff0\x01"+strings.Repeat("x", 0xfff0-5), 100)+"0000")),
			tweak: roomy, want: []Reason{ReasonUnreachable, ReasonUnknown},
		},
		"endless references": {fault: endlessReferences, tweak: limited,
			want: []Reason{ReasonTimedOut, ReasonMemory}},
		"an endless pack": {fault: packs(endlessPack), tweak: roomy, want: []Reason{ReasonTooLarge}},
		"self-signed certificate": {how: overTLS, tweak: func(_ *testing.T, _ *server, o *Options) { o.CAFile = "" },
			want: []Reason{ReasonCertificate}},
		"another CA": {how: overTLS, tweak: func(t *testing.T, _ *server, o *Options) {
			o.CAFile = writeFile(t, newCA(t))
		}, want: []Reason{ReasonCertificate}},
		"another name": {how: overTLS, tweak: func(_ *testing.T, _ *server, o *Options) {
			o.URL = strings.Replace(o.URL, "127.0.0.1", "localhost", 1)
		}, want: []Reason{ReasonCertificate}},
		"CA that is no PEM": {how: overTLS, tweak: func(t *testing.T, _ *server, o *Options) {
			o.CAFile = writeFile(t, "hello")
		}, want: []Reason{ReasonCAInvalid}},
		"CA that is damaged": {how: overTLS, tweak: func(t *testing.T, _ *server, o *Options) {
			o.CAFile = writeFile(t, pemOf([]byte("hello")))
		}, want: []Reason{ReasonCAInvalid}},
		"no CA file": {how: overTLS, tweak: func(t *testing.T, _ *server, o *Options) {
			o.CAFile = t.TempDir() + "/none"
		}, want: []Reason{ReasonCAMissing}},
		"no password file": {tweak: func(t *testing.T, _ *server, o *Options) {
			o.Credentials.PasswordFile = t.TempDir() + "/none"
		}, want: []Reason{ReasonCredentialsMissing}},
		"no such branch":         {ref: "refs/heads/mian", want: []Reason{ReasonRefNotFound}},
		"no such tag":            {ref: "refs/tags/v1", want: []Reason{ReasonRefNotFound}},
		"no such commit":         {ref: strings.Repeat("01234567", 5), want: []Reason{ReasonCommitRefused}},
		"a tag of a file":        {ref: "refs/tags/file", want: []Reason{ReasonCommitRefused}},
		"a short reference":      {ref: "main", want: []Reason{ReasonRefNotFound}},
		"an option":              {ref: "--upload-pack=touch", want: []Reason{ReasonRefNotFound}},
		"a pattern":              {ref: "refs/heads/m*", want: []Reason{ReasonRefNotFound}},
		"two references":         {ref: "refs/heads/main:refs/heads/x", want: []Reason{ReasonRefNotFound}},
		"a revision":             {ref: "refs/heads/main~0", want: []Reason{ReasonRefNotFound}},
		"a peeled reference":     {ref: "refs/heads/main^{}", want: []Reason{ReasonRefNotFound}},
		"other patterns":         {ref: "refs/heads/ma[i]?", want: []Reason{ReasonRefNotFound}},
		"an escape":              {ref: `refs/heads/m\ain`, want: []Reason{ReasonRefNotFound}},
		"a space":                {ref: "refs/heads/main x", want: []Reason{ReasonRefNotFound}},
		"no letters of a branch": {ref: "refs/heads/日本", want: []Reason{ReasonRefNotFound}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			how := test.how
			if how == nil {
				how = func(*server) {}
			}
			s := o.serve(how)
			r := synced.fork(t, s.url(o))
			if s.TLS != nil {
				r.CAFile = s.caFile(t)
			}
			well := r.Options
			s.set(test.fault)
			if test.tweak != nil {
				test.tweak(t, s, &r.Options)
			}
			ref := cmp.Or(test.ref, "refs/heads/two")
			begin := time.Now()
			_, err := r.Fetch(t.Context(), ref)
			t.Logf("after %s: %v", time.Since(begin).Round(time.Millisecond), err)
			if len(test.want) == 0 && err != nil || len(test.want) > 0 && !slices.Contains(test.want, asError(err).Reason) {
				t.Errorf("the reason is %s, want %q", errText(err), test.want)
			}
			if err != nil && strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("the error has the address: %v", err)
			}
			s.set(nil)
			r.Options = well
			if _, got := r.sync(t, "refs/heads/three"); !maps.Equal(got, three) {
				t.Errorf("then checked out %q", got)
			}
		})
	}
}

func impatient(_ *testing.T, _ *server, o *Options) { o.Timeout = time.Second }
func limited(_ *testing.T, _ *server, o *Options)   { o.Timeout, o.Memory = 5*time.Second, 32<<20 }
func roomy(_ *testing.T, _ *server, o *Options) {
	o.Timeout = 20 * time.Second
	o.Room = func() (int64, error) { return 1 << 20, nil }
}

func toLogin(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	if r.URL.Path == "/login" {
		answersWith(200, "Content-Type: text/html", page)(w, r, nil)
		return
	}
	http.Redirect(w, r, "/login?from="+r.URL.Path, http.StatusFound)
}

// moved leads to the same repository at another path, or without end.
func moved(endless bool) fault {
	return func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		if path, moved := strings.CutPrefix(r.URL.Path, "/moved"); moved && !endless {
			r.URL.Path = path
			git.ServeHTTP(w, r)
			return
		}
		http.Redirect(w, r, "/moved"+r.URL.RequestURI(), http.StatusFound)
	}
}

// toHTTP leads to a server without TLS.
func toHTTP(w http.ResponseWriter, r *http.Request, git http.Handler) {
	plain := httptest.NewServer(git)
	defer time.AfterFunc(10*time.Second, plain.Close)
	http.Redirect(w, r, plain.URL+r.URL.RequestURI(), http.StatusFound)
}

// unusedAddress is one that refuses connections.
func unusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// TestEmpty tells an empty repository from one with a wrong HEAD.
func TestEmpty(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	s := o.serve()
	check := func(ref string, want Reason) {
		t.Helper()
		_, err := newRepository(t, s.url(o)).Fetch(t.Context(), ref)
		if !isReason(err, want) {
			t.Errorf("%s: %v, want %s", ref, err, want)
		}
	}
	check("HEAD", ReasonEmpty)
	check("refs/heads/main", ReasonEmpty)
	if _, err := newRepository(t, s.url(o)).Branches(t.Context(),
		func(string) bool { return true }); !isReason(err, ReasonEmpty) {
		t.Errorf("branches: %v", err)
	}
	o.commitTo("other", files{"x": "x"})
	check("HEAD", ReasonHead)
	check("refs/heads/main", ReasonRefNotFound)
	s.set(answersWith(200, "Content-Type: text/html", page))
	if _, err := newRepository(t, s.url(o)).Branches(t.Context(),
		func(string) bool { return true }); !isReason(err, ReasonWebPage) {
		t.Errorf("branches: %v", err)
	}
}

// TestBranches are those that match, with names of any letters.
func TestBranches(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	commit := o.commit(files{"x": "x"})
	for _, name := range []string{"zweig/ä-日本", "no", "preview/1"} {
		o.git(nil, "branch", name, commit)
	}
	r := newRepository(t, o.serve().url(o))
	found, err := r.Branches(t.Context(), func(name string) bool { return name != "no" })
	want := []Branch{{"main", commit}, {"preview/1", commit}, {"zweig/ä-日本", commit}}
	if err != nil || found.Head != "main" || found.More || !slices.Equal(found.List, want) {
		t.Errorf("%+v, %v", found, err)
	}
	for _, branch := range want {
		if tree, _ := r.sync(t, "refs/heads/"+branch.Name); tree.Commit != commit {
			t.Errorf("%s is %s", branch.Name, tree.Commit)
		}
	}
	var many strings.Builder
	for i := range 150 {
		fmt.Fprintf(&many, "create refs/heads/many/%03d %s\n", i, commit)
	}
	o.git(strings.NewReader(many.String()), "update-ref", "--stdin")
	if found, err = r.Branches(t.Context(), func(string) bool { return true }); err != nil ||
		len(found.List) != maxBranches || !found.More {
		t.Errorf("%d branches, more: %t, %v", len(found.List), found.More, err)
	}
}

// TestRefs are commits, tags and a repository with SHA-256.
func TestRefs(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		o := newOriginAt(t, filepath.Join(t.TempDir(), "site.git"), format, "uploadpack.allowReachableSHA1InWant=true")
		first := o.commit(files{"p/x": "one"})
		o.git(nil, "tag", "-m", "x", "v1", "main")
		second := o.commit(files{"p/x": "two"})
		o.git(nil, "branch", "zweig/ä-日本", "main")
		o.git(nil, "tag", "версия", "main")
		o.git(nil, "update-server-info")
		refs := []struct{ ref, commit, text string }{
			{"HEAD", second, "two"}, {"refs/tags/v1", first, "one"}, {second, second, "two"}, {first, first, "one"},
			{"refs/heads/main", second, "two"},
			{"refs/heads/zweig/ä-日本", second, "two"}, {"refs/tags/версия", second, "two"},
		}
		if format == "sha256" {
			// Names do not depend on the format.
			refs = refs[:4]
		}
		for name, how := range map[string]func(*server){"git": func(*server) {}, "dumb": dumb, "old": with(oldProtocol)} {
			t.Run(format+" "+name, func(t *testing.T) {
				t.Parallel()
				r := newRepository(t, o.serve(how).url(o), ofPath("p"))
				for _, test := range refs {
					tree, got := r.sync(t, test.ref)
					if tree.Commit != test.commit || got["p/x"] != test.text {
						t.Errorf("%s: %s with %q", test.ref, tree.Commit, got)
					}
				}
			})
		}
	}
}

// oldProtocol is a server that knows version 0 of the protocol only.
func oldProtocol(w http.ResponseWriter, r *http.Request, git http.Handler) {
	r.Header.Del("Git-Protocol")
	git.ServeHTTP(w, r)
}

// TestObjectsAreRefused: an old server with filters that sends no file by its hash is asked for all of them.
func TestObjectsAreRefused(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(files{"p/x": "one", "y": "y"})
	r := newRepository(t, o.serve(with(oldProtocol)).url(o), ofPath("p"))
	if _, got := r.sync(t, "HEAD"); !maps.Equal(got, files{"p/x": "one"}) || !r.unfiltered {
		t.Errorf("checked out %q", got)
	}
}

// TestCancel ends git and everything it has started at once, and leaves no lock.
func TestCancel(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(files{"x": "x"})
	s := o.serve(with(packs(silent)))
	r := newRepository(t, s.url(o))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel)
	begin := time.Now()
	_, err := r.Fetch(ctx, "HEAD")
	if !errors.Is(err, context.Canceled) || time.Since(begin) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
	if running := processesIn(t, r.Dir); len(running) > 0 {
		t.Errorf("still running: %q", running)
	}
	s.set(nil)
	r.sync(t, "HEAD")
}

// processesIn returns the command lines of processes whose working directory or environment names a directory.
func processesIn(t *testing.T, dir string) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range all {
		environment, _ := os.ReadFile(process + "/environ")
		if strings.Contains(string(environment), "="+dir+"/") {
			line, _ := os.ReadFile(process + "/cmdline")
			found = append(found, process+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// newCA returns a certificate that no server has.
func newCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf(certificate)
}
