package resources

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func withMemoryLimit(limit string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) {
		website.Spec.Resources.Server.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}
	}
}

func TestConnectionLimits(t *testing.T) {
	for name, test := range map[string]struct {
		memory, cpu string
		want        connectionLimits
	}{
		"default": {want: connectionLimits{Connections: 1170, Requests: 876,
			Compressed: 192, Files: 3364}},
		"less memory": {memory: "32Mi",
			want: connectionLimits{Connections: 292, Requests: 219, Compressed: 48, Files: 1608}},
		"hardly any memory": {memory: "4Mi",
			want: connectionLimits{Connections: 256, Requests: 192, Compressed: 16, Files: 1536}},
		"more memory": {memory: "512Mi",
			want: connectionLimits{Connections: 4681, Requests: 3510, Compressed: 768, Files: 10386}},
		"a lot of memory": {memory: "16Gi",
			want: connectionLimits{Connections: 8192, Requests: 6144, Compressed: 6144, Files: 17408}},
		"several workers": {memory: "512Mi", cpu: "4",
			want: connectionLimits{Connections: 1170, Requests: 876, Compressed: 768, Files: 3364}},
		"several workers, no more memory": {cpu: "8",
			want: connectionLimits{Connections: 1024, Requests: 768, Compressed: 192, Files: 3072}},
		"workers with a lot of it": {memory: "16Gi", cpu: "4",
			want: connectionLimits{Connections: 2048, Requests: 1536, Compressed: 1536, Files: 5120}},
	} {
		t.Run(name, func(t *testing.T) {
			website := newWebsite(func(w *v1beta1.Website) {
				if test.memory != "" {
					withMemoryLimit(test.memory)(w)
				}
				if test.cpu != "" {
					w.Spec.Resources.Server.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(test.cpu)}
				}
			})
			if got := newConnectionLimits(website); got != test.want {
				t.Errorf("limits = %+v, want %+v", got, test.want)
			}
			config := mustNginxConfig(t, website)
			for _, want := range []string{
				fmt.Sprintf("worker_connections %d;", test.want.Connections),
				fmt.Sprintf("limit_conn requests %d;", test.want.Requests),
				fmt.Sprintf("limit_conn compressed %d;", test.want.Compressed),
				fmt.Sprintf("worker_rlimit_nofile %d;", test.want.Files),
			} {
				if !strings.Contains(config, want) {
					t.Errorf("%q is missing", want)
				}
			}
		})
	}
}

// TestNginxBoundsSlowReaders has clients request a compressed response and not read it.
func TestNginxBoundsSlowReaders(t *testing.T) {
	const memoryLimit = 32 << 20
	for name, tweaks := range map[string][]func(*v1beta1.Website){
		"public":    {withMemoryLimit("32Mi")},
		"protected": {withMemoryLimit("32Mi"), withUsers("readers")},
	} {
		t.Run(name, func(t *testing.T) {
			s := startNginxWith(t, oneWorker, tweaks...)
			headers := []string{"Accept-Encoding", "gzip"}
			if name == "protected" {
				s.admit(map[string]string{"username": "reader", "password": "word"})
				headers = append(headers, "Authorization", "Basic cmVhZGVyOndvcmQ=")
			}
			s.write(commitA, "index.html", "home")
			s.write(commitA, "large.html", largePage(2<<20))
			s.publish("releases/" + commitA)
			get := func() (*http.Response, string) { return s.get(s.http, "/", headers...) }

			request := "GET /large.html HTTP/1.1\r\nHost: site\r\n"
			for header := range slices.Chunk(headers, 2) {
				request += header[0] + ": " + header[1] + "\r\n"
			}
			before := s.workerMemory()
			const readers = 120
			statuses := map[string]int{}
			var connections []net.Conn
			for range readers {
				connection := s.dial(s.http, request+"\r\n")
				connections = append(connections, connection)
				status, err := bufio.NewReaderSize(connection, 16).ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				statuses[strings.TrimSpace(strings.TrimPrefix(status, "HTTP/1.1 "))]++
			}
			after := s.settledMemory()
			t.Logf("%v: nginx has %d KiB, %d KiB more than before", statuses, after>>10, (after-before)>>10)
			if got, want := statuses["200 OK"], int(s.limits.Compressed); got != want {
				t.Errorf("%d of %d slow readers are answered, want %d", got, readers, want)
			}
			if got, want := statuses["503 Service Temporarily Unavailable"], readers-int(s.limits.Compressed); got != want {
				t.Errorf("%d of %d slow readers are rejected, want %d", got, readers, want)
			}
			if after > memoryLimit*3/4 {
				t.Errorf("slow readers take %d KiB of a limit of %d KiB", after>>10, memoryLimit>>10)
			}
			const most = 384 << 10
			if each := (after - before) / max(statuses["200 OK"], 1); each > most {
				t.Errorf("a slow reader takes %d KiB, want at most %d", each>>10, most>>10)
			}

			response, body := get()
			if response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "too many visitors") ||
				response.Header.Get("Retry-After") != "10" || response.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("GET / = %d %q %v", response.StatusCode, body, response.Header)
			}
			s.want(s.admin, "/readyz", http.StatusOK, "ok\n")

			for _, connection := range connections {
				_ = connection.Close()
			}
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true,
				func(context.Context) (bool, error) {
					response, _ := get()
					return response.StatusCode == http.StatusOK, nil
				})
			if err != nil {
				t.Errorf("visitors are rejected after the slow readers have left: %v", err)
			}
		})
	}
}

// TestNginxCountsNoIdleVisitors: browsers keep connections open between requests.
func TestNginxCountsNoIdleVisitors(t *testing.T) {
	s := startNginxWith(t, oneWorker, withMemoryLimit("16Mi"))
	s.write(commitA, "index.html", "home")
	s.publish("releases/" + commitA)
	for range 2 * s.limits.Compressed {
		connection := s.dial(s.http, "GET / HTTP/1.1\r\nHost: site\r\nAccept-Encoding: gzip\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK ||
			string(body) != "home" {
			t.Fatalf("GET / = %d %q, %v", response.StatusCode, body, err)
		}
	}
}

// TestNginxServesManyDownloads: uncompressed responses take little memory, so more of them may be
// sent at the same time.
func TestNginxServesManyDownloads(t *testing.T) {
	s := startNginxWith(t, oneWorker, withMemoryLimit("32Mi"))
	s.write(commitA, "film.mp4", largePage(1<<20))
	s.publish("releases/" + commitA)
	for range 2 * s.limits.Compressed {
		connection := s.dial(s.http, "GET /film.mp4 HTTP/1.1\r\nHost: site\r\nAccept-Encoding: gzip\r\n\r\n")
		if status, err := bufio.NewReaderSize(connection, 16).ReadString('\n'); err != nil ||
			!strings.Contains(status, " 200 ") {
			t.Fatalf("GET /film.mp4: %q, %v", status, err)
		}
	}
}

// TestCompressedFormats: only requests whose response nginx may compress are counted as such.
func TestCompressedFormats(t *testing.T) {
	config := mustNginxConfig(t, newWebsite())
	_, listed, _ := strings.Cut(config, "gzip_types")
	listed, _, _ = strings.Cut(listed, ";")
	compressed := append(strings.Fields(listed), "text/html")
	_, counted, _ := strings.Cut(config, "map $extension $compressible {")
	counted, _, _ = strings.Cut(counted, "}")
	_, types, _ := strings.Cut(config, " types {")
	types, _, _ = strings.Cut(types, "}")
	endings := 0
	for line := range strings.Lines(types) {
		fields := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), ";"))
		for _, ending := range fields[min(1, len(fields)):] {
			endings++
			if got, want := strings.Contains(counted, "\n"+ending+" site;"), slices.Contains(compressed,
				fields[0]); got != want {
				t.Errorf("%s, as of .%s, is compressed: %t, and counted: %t", fields[0], ending, want, got)
			}
		}
	}
	if endings < 400 {
		t.Errorf("only %d endings are found", endings)
	}
	_, expressions, _ := strings.Cut(config, "map $uri $extension {")
	expressions, _, _ = strings.Cut(expressions, "map ")
	found := regexp.MustCompile(`"~(\S+)" (\S+);`).FindAllStringSubmatch(expressions, -1)
	for path, want := range map[string]string{"/": "/", "/a/": "/", "/a.b/page": "/", "/INDEX.HTML": "HTML",
		"/source.tar.xz": "xz", "/a.": ""} {
		got := ""
		for _, expression := range found {
			if match := regexp.MustCompile(expression[1]).FindStringSubmatch(path); match != nil {
				got = strings.ReplaceAll(expression[2], "$ending", match[len(match)-1])
				break
			}
		}
		if got != want {
			t.Errorf("the extension of %s is %q, want %q", path, got, want)
		}
	}
}

// TestNginxIsProbedUnderLoad: clients that keep connections open leave some to the kubelet.
func TestNginxIsProbedUnderLoad(t *testing.T) {
	for name, test := range map[string]struct {
		sent    string
		clients int
	}{
		// No limit counts an incomplete request.
		"unfinished requests": {"G", 1100},
		"slow readers":        {"GET /film.mp4 HTTP/1.1\r\nHost: site\r\n\r\n", 1500},
	} {
		t.Run(name, func(t *testing.T) {
			s := startNginxWith(t, oneWorker)
			s.write(commitA, "film.mp4", largePage(1<<20))
			s.publish("releases/" + commitA)
			before := s.workerMemory()
			for range test.clients {
				s.dial(s.http, test.sent)
				// With few connections left, nginx closes an unread one to accept the next.
				time.Sleep(500 * time.Microsecond)
			}
			t.Logf("nginx has %d KiB more than before", (s.settledMemory()-before)>>10)
			s.client.CloseIdleConnections()
			s.want(s.admin, "/readyz", http.StatusOK, "ok\n")
			s.want(s.admin, "/commit", http.StatusOK, commitA+"\n")
		})
	}
}

// TestNginxAdminPortOnlyReads: no other method, and no body, reaches the agent or the disk.
func TestNginxAdminPortOnlyReads(t *testing.T) {
	s := startNginx(t)
	s.write(commitA, "index.html", "home")
	s.publish("releases/" + commitA)
	received := s.startAgent(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"commit":""}`)) })
	for _, path := range []string{"/status", "/readyz", "/commit", "/missing"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
			http.MethodOptions, "PROPFIND"} {
			response, _ := s.do(method, s.admin, path)
			if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s = %d, Allow %q", method, path, response.StatusCode, response.Header.Get("Allow"))
			}
		}
	}
	for name, test := range map[string]struct {
		request, status string
	}{
		"a method with a large body": {"POST /status HTTP/1.1\r\nContent-Length: 65536\r\n", "405"},
		"a large body":               {"GET /status HTTP/1.1\r\nContent-Length: 65536\r\n", "413"},
		"a large body of chunks":     {"GET /status HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", "413"},
	} {
		body := bytes.Repeat([]byte("x"), 65536)
		if strings.Contains(test.request, "chunked") {
			body = append(append([]byte("10000\r\n"), body...), "\r\n0\r\n\r\n"...)
		}
		connection := s.dial(s.admin, test.request+"Host: admin\r\n\r\n")
		// The connection may be closed before the body is written.
		go func() { _, _ = connection.Write(body) }()
		status, err := bufio.NewReader(connection).ReadString('\n')
		if err != nil || !strings.HasPrefix(status, "HTTP/1.1 "+test.status+" ") {
			t.Errorf("%s: %q, %v, want %s", name, status, err, test.status)
		}
	}
	select {
	case r := <-received:
		t.Errorf("the agent got %s %s", r.Method, r.URL)
	default:
	}
	s.want(s.admin, "/status", http.StatusOK, `{"commit":""}`)
	if response, _ := s.do(http.MethodHead, s.admin, "/status"); response.StatusCode != http.StatusOK {
		t.Errorf("HEAD /status = %d", response.StatusCode)
	}
}

func oneWorker(parameters *nginxParameters) { parameters.Workers = 1 }

// largePage has text that is compressed to about half, so that it fills the buffers of nginx and of a socket.
func largePage(size int) string {
	content := make([]byte, size/2)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(content)
	return hex.EncodeToString(content)
}

// dial sends the beginning of a request. The connection is closed at the end of the test.
func (s *testSite) dial(server, sent string) net.Conn {
	s.t.Helper()
	connection, err := net.Dial("unix", s.socket(server))
	for begin := time.Now(); errors.Is(err, syscall.EAGAIN) && time.Since(begin) < 10*time.Second; {
		// Too many connections wait to be accepted.
		time.Sleep(time.Millisecond)
		connection, err = net.Dial("unix", s.socket(server))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	// nginx may have closed it, which the read of the response reports.
	_, _ = connection.Write([]byte(sent))
	return connection
}

// workerMemory is the memory, in bytes, that the workers do not share with files.
func (s *testSite) workerMemory() int {
	s.t.Helper()
	statuses, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		s.t.Fatal(err)
	}
	if len(statuses) == 0 {
		s.t.Skip("no /proc: the memory of nginx cannot be measured")
	}
	sum := 0
	for _, name := range statuses {
		content, err := os.ReadFile(name)
		if err != nil {
			// The process has ended.
			continue
		}
		status := map[string]string{}
		for line := range strings.Lines(string(content)) {
			key, value, _ := strings.Cut(line, ":")
			status[key] = strings.TrimSpace(value)
		}
		if status["PPid"] != strconv.Itoa(s.master) {
			continue
		}
		anonymous, err := strconv.Atoi(strings.TrimSuffix(status["RssAnon"], " kB"))
		if err != nil {
			s.t.Fatal(err)
		}
		sum += anonymous << 10
	}
	return sum
}

// settledMemory waits until the buffers of unread responses are full.
func (s *testSite) settledMemory() int {
	s.t.Helper()
	last, since := s.workerMemory(), time.Now()
	for begin := time.Now(); time.Since(since) < 500*time.Millisecond && time.Since(begin) < 30*time.Second; {
		time.Sleep(50 * time.Millisecond)
		if now := s.workerMemory(); now != last {
			last, since = now, time.Now()
		}
	}
	return last
}

// startAgent listens where nginx expects the agent, and returns the requests that arrive.
func (s *testSite) startAgent(answer http.HandlerFunc) <-chan *http.Request {
	s.t.Helper()
	listener, err := net.Listen("unix", s.socket("agent"))
	if err != nil {
		s.t.Fatal(err)
	}
	// nginx may run as another user.
	if err := os.Chmod(s.socket("agent"), 0o777); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(s.sockets, 0o755); err != nil {
		s.t.Fatal(err)
	}
	received := make(chan *http.Request, 100)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received <- r
		answer(w, r)
	})}
	go func() { _ = server.Serve(listener) }()
	s.t.Cleanup(func() { _ = server.Close() })
	return received
}
