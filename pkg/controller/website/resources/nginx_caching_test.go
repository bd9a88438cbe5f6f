package resources

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const revalidate = "public, max-age=0, must-revalidate"

// wantHeaders compares headers; an empty value stands for none.
func wantHeaders(t *testing.T, response *http.Response, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := strings.Join(response.Header.Values(name), " | "); got != value {
			t.Errorf("%s %s: %s = %q, want %q", response.Request.Method, response.Request.URL.Path, name, got, value)
		}
	}
}

func gunzip(t *testing.T, body string) string {
	t.Helper()
	reader, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func gzipped(t *testing.T, content string) string {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

func TestNginxValidators(t *testing.T) {
	s := startNginx(t)
	s.write(commitA, "index.html", "home of a")
	s.write(commitB, "index.html", "home of b")
	s.publish("releases/" + commitA)
	tag := tagOf("home of a")

	for name, test := range map[string]struct {
		method     string
		path       string
		headers    []string
		wantStatus int
		wantTag    string
	}{
		"no condition": {path: "/", wantStatus: 200, wantTag: tag},
		"HEAD":         {method: "HEAD", path: "/", wantStatus: 200, wantTag: tag},
		"current":      {path: "/", headers: []string{"If-None-Match", tag}, wantStatus: 304, wantTag: tag},
		"current, HEAD": {method: "HEAD", path: "/", headers: []string{"If-None-Match", tag},
			wantStatus: 304, wantTag: tag},
		"weakened by a proxy": {path: "/", headers: []string{"If-None-Match", "W/" + tag},
			wantStatus: 304, wantTag: tag},
		"one of several": {path: "/",
			headers: []string{"If-None-Match", tagOf("home of b") + ", W/" + tag + `, "x"`}, wantStatus: 304, wantTag: tag},
		"of another commit": {path: "/", headers: []string{"If-None-Match", tagOf("home of b")},
			wantStatus: 200, wantTag: tag},
		"the commit alone": {path: "/", headers: []string{"If-None-Match", `"` + commitA + `"`},
			wantStatus: 200, wantTag: tag},
		"within another tag": {path: "/", headers: []string{"If-None-Match", `"x` + strings.Trim(tag, `"`) + `"`},
			wantStatus: 200, wantTag: tag},
		"followed by something": {path: "/", headers: []string{"If-None-Match", tag + "x"},
			wantStatus: 200, wantTag: tag},
		"unquoted": {path: "/", headers: []string{"If-None-Match", strings.Trim(tag, `"`)},
			wantStatus: 200, wantTag: tag},
		"a date says nothing": {path: "/", headers: []string{"If-Modified-Since",
			time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}, wantStatus: 200, wantTag: tag},
		"what is missing has none": {path: "/missing", wantStatus: 404},
		"any version":              {path: "/", headers: []string{"If-Match", "*"}, wantStatus: 200, wantTag: tag},
		"this version":             {path: "/", headers: []string{"If-Match", tag}, wantStatus: 200, wantTag: tag},
		"another version":          {path: "/", headers: []string{"If-Match", tagOf("home of b")}, wantStatus: 412},
		"no version after the checkout": {path: "/",
			headers: []string{"If-Unmodified-Since", time.Unix(0, 0).UTC().Format(http.TimeFormat)}, wantStatus: 412},
	} {
		t.Run(name, func(t *testing.T) {
			method := test.method
			if method == "" {
				method = http.MethodGet
			}
			response, body := s.do(method, s.http, test.path, test.headers...)
			if response.StatusCode != test.wantStatus {
				t.Errorf("status = %d, want %d", response.StatusCode, test.wantStatus)
			}
			if hasBody := body != ""; hasBody != (method == http.MethodGet && test.wantStatus != 304) {
				t.Errorf("body = %q", body)
			}
			want := map[string]string{"ETag": test.wantTag, "Last-Modified": "", "Cache-Control": revalidate,
				"Website-Commit": commitA}
			if test.wantStatus == 304 {
				want["Vary"] = "Accept-Encoding"
			}
			wantHeaders(t, response, want)
		})
	}

	// The date of a file has no meaning.
	if response, _ := s.get(s.http, "/", "If-Modified-Since",
		dateOf("home of a").UTC().Format(http.TimeFormat)); response.StatusCode != 200 {
		t.Errorf("with the time of the file: %d", response.StatusCode)
	}

	s.publish("releases/" + commitB)
	if response, body := s.get(s.http, "/", "If-None-Match", tag); response.StatusCode != 200 || body != "home of b" {
		t.Errorf("with the ETag of the previous commit: %d %q", response.StatusCode, body)
	}
	// This push does not change the file.
	const commitC = "cccccccccccccccccccccccccccccccccccccccc"
	s.write(commitC, "index.html", "home of b")
	s.write(commitC, "other.html", "other")
	s.publish("releases/" + commitC)
	if response, _ := s.get(s.http, "/", "If-None-Match", tagOf("home of b")); response.StatusCode != 304 ||
		response.Header.Get("Website-Commit") != commitC {
		t.Errorf("with the ETag of the same file in the previous commit: %d", response.StatusCode)
	}
}

func TestNginxRanges(t *testing.T) {
	s := startNginx(t)
	content := strings.Repeat("0123456789", 1000)
	s.write(commitA, "data.bin", content)
	s.publish("releases/" + commitA)
	for name, test := range map[string]struct {
		headers    []string
		wantStatus int
		wantBody   string
	}{
		"a range":                   {[]string{"Range", "bytes=10-14"}, 206, "01234"},
		"the end":                   {[]string{"Range", "bytes=-3"}, 206, "789"},
		"resumed":                   {[]string{"Range", "bytes=9997-", "If-Range", tagOf(content)}, 206, "789"},
		"resumed on a newer commit": {[]string{"Range", "bytes=9997-", "If-Range", tagOf("another")}, 200, content},
		"resumed with a weak tag":   {[]string{"Range", "bytes=9997-", "If-Range", "W/" + tagOf(content)}, 200, content},
		"resumed by a date": {[]string{"Range", "bytes=9997-", "If-Range", time.Now().UTC().Format(http.TimeFormat)},
			200, content},
		"beyond the end":             {[]string{"Range", "bytes=20000-"}, 416, ""},
		"current, so nothing at all": {[]string{"Range", "bytes=0-1", "If-None-Match", tagOf(content)}, 304, ""},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := s.get(s.http, "/data.bin", test.headers...)
			if response.StatusCode != test.wantStatus || (test.wantBody != "" && body != test.wantBody) {
				t.Errorf("%d %.20q, want %d %.20q", response.StatusCode, body, test.wantStatus, test.wantBody)
			}
			if test.wantStatus == 206 {
				wantHeaders(t, response, map[string]string{"ETag": tagOf(content)})
			}
		})
	}
}

// TestNginxCachingOfRanges compares the rules that nginx adds before it reads the range with what it then answers.
func TestNginxCachingOfRanges(t *testing.T) {
	const rule = "max-age=600"
	s := startNginx(t, withServing(v1beta1.WebsiteServing{
		Headers: []v1beta1.ResponseHeader{{Path: "/*", Name: "Cache-Control", Value: rule}},
	}))
	content := strings.Repeat("0123456789", 11)
	s.write(commitA, "data.bin", content)
	s.publish("releases/" + commitA)
	numbers := []int{0, 1, 2, 9, 10, 11, 19, 20, 99, 100, 101, 108, 109, 110, 111, 119, 120, 199, 200, 999, 1000}
	answers := map[int]int{}
	for _, first := range numbers {
		wanted := []string{fmt.Sprintf("bytes=%d-", first), fmt.Sprintf("bytes=-%d", first)}
		for _, last := range numbers {
			wanted = append(wanted, fmt.Sprintf("bytes=%d-%d", first, last))
		}
		for _, header := range wanted {
			response, _ := s.get(s.http, "/data.bin", "Range", header)
			want := map[int]string{206: rule, 416: revalidate}[response.StatusCode]
			if got := strings.Join(response.Header.Values("Cache-Control"), " | "); got != want {
				t.Errorf("%s: %d with Cache-Control %q", header, response.StatusCode, got)
			}
			answers[response.StatusCode]++
		}
	}
	if answers[206] < 100 || answers[416] < 100 {
		t.Errorf("responses by status: %v", answers)
	}
}

func TestNginxCompression(t *testing.T) {
	s := startNginx(t)
	text := strings.Repeat("the same words again and again. ", 100)
	for _, name := range []string{"index.html", "app.js", "app.mjs", "style.css", "data.json", "icon.svg", "app.wasm",
		"feed.xml", "site.webmanifest"} {
		s.write(commitA, name, text)
	}
	s.write(commitA, "short.css", "a{}")
	s.write(commitA, "photo.png", text)
	s.write(commitA, "built.js", "not compressed")
	s.write(commitA, "built.js.gz", gzipped(t, "compressed when it was built"))
	s.link(commitA, "leak.js.gz", "/etc/passwd")
	s.write(commitA, "leak.js", "safe")
	s.publish("releases/" + commitA)

	for _, path := range []string{"/", "/app.js", "/app.mjs", "/style.css", "/data.json", "/icon.svg", "/app.wasm",
		"/feed.xml", "/site.webmanifest"} {
		response, body := s.get(s.http, path, "Accept-Encoding", "gzip, br")
		// It is compressed on the fly, so its ETag is weak.
		wantHeaders(t, response, map[string]string{"Content-Encoding": "gzip", "Vary": "Accept-Encoding",
			"ETag": "W/" + tagOf(text)})
		if gunzip(t, body) != text {
			t.Errorf("GET %s: other content", path)
		}
		response, body = s.get(s.http, path)
		wantHeaders(t, response, map[string]string{"Content-Encoding": "", "Vary": "Accept-Encoding", "ETag": tagOf(text)})
		if body != text {
			t.Errorf("GET %s: other content", path)
		}
	}
	for path, content := range map[string]string{"/short.css": "a{}", "/photo.png": text} {
		response, _ := s.get(s.http, path, "Accept-Encoding", "gzip")
		wantHeaders(t, response, map[string]string{"Content-Encoding": "", "ETag": tagOf(content)})
	}
	t.Run("by those who published it", func(t *testing.T) {
		response, body := s.get(s.http, "/built.js", "Accept-Encoding", "gzip")
		tag := tagOf(gzipped(t, "compressed when it was built"))
		wantHeaders(t, response, map[string]string{
			"Content-Encoding": "gzip", "Vary": "Accept-Encoding", "ETag": tag, "Content-Type": "text/javascript; charset=utf-8",
		})
		if got := gunzip(t, body); got != "compressed when it was built" {
			t.Errorf("content %q", got)
		}
		if response, _ := s.get(s.http, "/built.js", "Accept-Encoding", "gzip", "If-None-Match",
			tag); response.StatusCode != 304 || response.Header.Get("ETag") != tag {
			t.Errorf("with its own ETag: %d %s", response.StatusCode, response.Header.Get("ETag"))
		}
		// Half of each would be neither.
		if response, _ := s.get(s.http, "/built.js", "Accept-Encoding", "gzip", "Range", "bytes=1-", "If-Range",
			tagOf("not compressed")); response.StatusCode != 200 {
			t.Errorf("resumed with the ETag of the other form: %d", response.StatusCode)
		}
		response, body = s.get(s.http, "/built.js")
		wantHeaders(t, response, map[string]string{"Content-Encoding": "", "Vary": "Accept-Encoding",
			"ETag": tagOf("not compressed")})
		if body != "not compressed" {
			t.Errorf("content %q", body)
		}
	})
	t.Run("not through a link", func(t *testing.T) {
		if response, body := s.get(s.http, "/leak.js", "Accept-Encoding", "gzip"); strings.Contains(body, "root:") {
			t.Errorf("%d %q", response.StatusCode, body)
		}
	})
}
