package git

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const password = `secret % \`

// asReader returns a function that sets the CA and the credentials of private repositories in Options.
func asReader(t *testing.T, s *server) func(*Options) {
	return func(o *Options) {
		o.CAFile = s.caFile(t)
		o.Credentials.UsernameFile, o.Credentials.PasswordFile = writeFile(t, "reader\r\n"), writeFile(t, password)
	}
}

// TestPassword: git sends the password only to the path of the repository, not to submodules. With WholeHost, it
// also sends it to submodules with the same scheme, host and port.
func TestPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := newOriginAt(t, dir+"/private/site.git", "sha1")
	other := newOriginAt(t, dir+"/private/other.git", "sha1")
	public := newOriginAt(t, dir+"/public.git", "sha1")
	module := other.commit(files{"x": "x"})
	public.commit(files{"x": "x"})
	serve := func(how ...func(*server)) *server {
		return site.serve(append(how, func(s *server) { s.dir = dir; s.git = backend(t, dir) }, withPassword)...)
	}
	const own, others = "/private/site", "/private/other"
	for name, test := range map[string]struct {
		wholeHost bool
		submodule string
		want      []string
		cause     Reason
	}{
		"public submodule":  {submodule: "same/public", want: []string{own}},
		"of the repository": {submodule: "same" + others, want: []string{own}, cause: ReasonAuthentication},
		"of the host":       {wholeHost: true, submodule: "same" + others, want: []string{own, others}},
		"of the host, on another": {wholeHost: true, submodule: "another" + others, want: []string{own},
			cause: ReasonAuthentication},
		"of the host, without TLS": {wholeHost: true, submodule: "plain" + others, want: []string{own},
			cause: ReasonAuthentication},
		"of the host, same path": {wholeHost: true, submodule: "another" + own, want: []string{own},
			cause: ReasonAuthentication},
		"of the repository, through": {submodule: "same" + own + ".git/../other", want: []string{own},
			cause: ReasonAuthentication},
		"a longer path": {submodule: "same" + own + ".git/x", want: []string{own}, cause: ReasonAuthentication},
	} {
		t.Run(name, func(t *testing.T) {
			same, another, plain := serve(overTLS), serve(overTLS), serve()
			address := strings.NewReplacer("another/", another.URL+"/", "same/", same.URL+"/", "plain/", plain.URL+"/").
				Replace(test.submodule) + ".git"
			site.commit(files{"m": "@" + module, ".gitmodules": declare("m", address)})
			r := newRepository(t, same.url(site), asReader(t, same), withModules(SubmodulesRecursive))
			if test.submodule == "same/public" {
				site.commit(files{"m": "@" + public.git(nil, "rev-parse", "main"), ".gitmodules": declare("m", address)})
			}
			r.Credentials.WholeHost = test.wholeHost
			_, err := r.Fetch(t.Context(), "HEAD")
			if asError(err).Cause != test.cause || (err == nil) != (test.cause == "") {
				t.Errorf("the error is %v", err)
			}
			if !slices.Equal(same.authorized, test.want) {
				t.Errorf("the password was sent to %q, want %q", same.authorized, test.want)
			}
			if len(another.authorized)+len(plain.authorized) > 0 {
				t.Errorf("the password was sent to another host: %q, %q", another.authorized, plain.authorized)
			}
		})
	}
}

func backend(t *testing.T, dir string) http.Handler {
	t.Helper()
	return (&origin{t: t, dir: dir + "/x"}).serve().git
}

// TestPasswordAfterRedirect: after a redirect, git does not send the password to another host or without TLS. A
// rotated password takes effect without a restart.
func TestPasswordAfterRedirect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := newOriginAt(t, dir+"/private/site.git", "sha1")
	site.commit(files{"x": "x"})
	s := site.serve(func(s *server) { s.dir = dir; s.git = backend(t, dir) }, withPassword, overTLS)
	r := newRepository(t, s.url(site), asReader(t, s))
	right, wrong := r.Credentials.PasswordFile, writeFile(t, "wrong")
	r.sync(t, "HEAD")
	r.Credentials.PasswordFile = wrong
	if _, err := r.Fetch(t.Context(), "HEAD"); !isReason(err, ReasonAuthentication) {
		t.Errorf("with a wrong password: %v", err)
	}
	if err := os.WriteFile(wrong, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.sync(t, "HEAD")

	r.Credentials.PasswordFile = right
	for _, tls := range []bool{true, false} {
		sent := ""
		asking := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent += r.Header.Get("Authorization")
			w.Header().Set("WWW-Authenticate", "Basic realm=x")
			w.WriteHeader(http.StatusUnauthorized)
		}))
		if asking.Start(); tls {
			asking.Close()
			asking = httptest.NewTLSServer(asking.Config.Handler)
		}
		leading := site.serve(overTLS, with(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, asking.URL+r.URL.RequestURI(), http.StatusFound)
		}))
		_, err := newRepository(t, leading.URL+"/site.git", asReader(t, leading)).Fetch(t.Context(), "HEAD")
		if want := map[bool]Reason{true: ReasonAuthentication, false: ReasonDowngrade}[tls]; !isReason(err, want) ||
			sent != "" {
			t.Errorf("redirected with TLS %t: sent %q: %v", tls, sent, err)
		}
		asking.Close()
	}
}

// TestPasswordIsNowhere: no process has the password in its arguments or environment variables, and no
// file in the directory of the repository contains it.
func TestPasswordIsNowhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := newOriginAt(t, dir+"/private/site.git", "sha1")
	site.commit(files{"x": "x"})
	var found []string
	s := site.serve(func(s *server) { s.dir = dir; s.git = backend(t, dir) }, withPassword, overTLS)
	r := newRepository(t, s.url(site), asReader(t, s))
	looked := 0
	s.set(func(w http.ResponseWriter, request *http.Request, git http.Handler) {
		for _, process := range processesIn(t, r.Dir) {
			looked++
			pid, _, _ := strings.Cut(process, " ")
			for _, file := range []string{"cmdline", "environ"} {
				if data, _ := os.ReadFile(pid + "/" + file); strings.Contains(string(data), "secret") {
					found = append(found, process+" "+file)
				}
			}
		}
		git.ServeHTTP(w, request)
	})
	_, err := r.Fetch(t.Context(), "HEAD")
	for name, text := range readFiles(t, r.Dir) {
		if strings.Contains(text, "secret") {
			found = append(found, name)
		}
	}
	if err != nil || len(found) > 0 || looked == 0 {
		t.Errorf("%v: the password is in %q of %d processes", err, found, looked)
	}
}

// TestResolveURL: the relative URLs of submodules resolve as in git.
func TestResolveURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ base, address, want string }{
		{"https://h/a/b.git", "../c.git", "https://h/a/c.git"},
		{"https://h/a/b.git/", "../c.git", "https://h/a/c.git"},
		{"https://h/a/b.git", "./c", "https://h/a/b.git/c"},
		{"https://h/a/b", "../../c", "https://h/c"},
		{"https://h:8443/b", "../../c", ""},
		{"ssh://git@h:22/a/b", "../c", "ssh://git@h:22/a/c"},
		{"git@h:a/b.git", "../c.git", "git@h:a/c.git"},
		{"git@h:b.git", "../c.git", "git@h:c.git"},
		{"https://h/a", "https://other/x", "https://other/x"},
	} {
		if got, err := resolveURL(test.base, test.address); got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%s from %s is %q, %v", test.address, test.base, got, err)
		}
	}
}

// TestProtocols: the address decides which transports are allowed.
func TestProtocols(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://h/a": "https", "http://h/a": "http:https", "ssh://h/a": "ssh", "git@h:a": "ssh", "h:a/b": "ssh",
		"file:///a": "", "/a": "", "a": "",
		"ext::sh -c x": "", "git://h/a": "", "-oProxyCommand=x:y": "", "https://h/a\nb": "", "fd::3": "", "ftp://h/a": "",
	} {
		if got, err := protocolsOf(address); got != want || (err != nil) != (want == "") {
			t.Errorf("%q may use %q, %v, want %q", address, got, err, want)
		}
	}
}

// TestSSH: a fetch succeeds only with the right key, and only from a host in known_hosts.
func TestSSH(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(files{"p/x": "one" + random(5000), "y": "y"})
	good, other := startSSH(t, ""), startSSH(t, "echo ERROR: Repository not found. >&2; exit 1")
	hanging := startSSH(t, "exec sleep 30")
	cutting := startSSH(t, "printf 0100abc")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	mixed := strings.Replace(readFile(t, other.knownHosts), other.address[strings.LastIndex(other.address, ":"):],
		good.address[strings.LastIndex(good.address, ":"):], 1)
	for name, test := range map[string]struct {
		address, path, key, hosts string
		want                      Reason
	}{
		"":                     {good.address, o.dir, good.key, good.knownHosts, ""},
		"another key":          {good.address, o.dir, other.key, good.knownHosts, ReasonAuthentication},
		"no key":               {good.address, o.dir, writeFile(t, "hello"), good.knownHosts, ReasonAuthentication},
		"no key file":          {good.address, o.dir, "/none", good.knownHosts, ReasonCredentialsMissing},
		"host not known":       {good.address, o.dir, good.key, other.knownHosts, ReasonHostKey},
		"host has another key": {good.address, o.dir, good.key, writeFile(t, mixed), ReasonHostKey},
		"empty known_hosts":    {good.address, o.dir, good.key, writeFile(t, ""), ReasonKnownHosts},
		"no known_hosts":       {good.address, o.dir, good.key, "", ReasonKnownHosts},
		"no repository":        {good.address, "/none.git", good.key, good.knownHosts, ReasonNotFound},
		"no repository, words": {other.address, "/none.git", other.key, other.knownHosts, ReasonNotFound},
		"cut off":              {cutting.address, o.dir, cutting.key, cutting.knownHosts, ReasonUnreachable},
		"refused":              {unusedAddress(t), o.dir, good.key, good.knownHosts, ReasonUnreachable},
		"closes":               {listener.Addr().String(), o.dir, good.key, good.knownHosts, ReasonUnreachable},
		"silent":               {hanging.address, o.dir, hanging.key, hanging.knownHosts, ReasonTimedOut},
		"no such host":         {"git.invalid:22", o.dir, good.key, good.knownHosts, ReasonUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, "ssh://root@"+test.address+test.path, ofPath("p"), func(o *Options) {
				o.Credentials.KeyFile, o.Credentials.KnownHostsFile = test.key, test.hosts
			})
			if test.want == ReasonTimedOut {
				r.Timeout = time.Second
			}
			tree, err := r.Fetch(t.Context(), "HEAD")
			if test.want == "" && err == nil {
				err = r.Checkout(t.Context(), tree)
			}
			if asError(err).Reason != test.want {
				t.Errorf("%v: %s", err, errText(err))
			}
			if running := processesIn(t, r.Dir); len(running) > 0 {
				t.Errorf("still running: %q", running)
			}
		})
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
