package resources

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// requestTable is the specification of what visitors get. A request is "METHOD path", the method being GET unless it is
// named, then its headers. A response is the status, then its headers, where one without value is not sent, and at the
// end the body after a colon of its own. Each header of a response is sent once, whether a row names it or not.
type requestTable struct {
	serving v1beta1.WebsiteServing
	// protected asks for a password, and the requests have none.
	protected bool
	// files are the paths of the repository. Their content is "the content of" the path; what ends in '/' is a directory.
	files []string
	// want are the responses by request.
	want map[string]string
}

var requestTables = map[string]requestTable{
	"files and directories": {
		files: []string{
			"index.html", "404.html", "page.html", "sub/index.html", "empty/", "odd/index.html/", "a b.txt", "größe.html",
			"straße/index.html",
		},
		want: map[string]string{
			"/":                "200 : the content of index.html",
			"HEAD /":           "200 | Content-Type: text/html; charset=utf-8",
			"/page":            "200 : the content of page.html",
			"/page.html":       "200 : the content of page.html",
			"/page/":           "404 : the content of 404.html",
			"/sub":             "301 | Location: /sub/",
			"/sub?a=b":         "301 | Location: /sub/?a=b",
			"/sub/":            "200 : the content of sub/index.html",
			"/empty":           "301 | Location: /empty/",
			"/empty/":          "404 : the content of 404.html",
			"/odd/":            "404 : the content of 404.html",
			"/odd/index.html/": "404 : the content of 404.html",
			"/a%20b.txt":       "200 : the content of a b.txt",
			"/gr%C3%B6%C3%9Fe": "200 : the content of größe.html",
			"/stra%C3%9Fe":     "301 | Location: /stra%C3%9Fe/",
			"/missing":         "404 | Cache-Control: " + revalidate + " : the content of 404.html",
			"/missing.js":      "404 : the content of 404.html",
			"POST /":           "405 | Allow: GET, HEAD",
			"PUT /page.html":   "405 | Allow: GET, HEAD",
			"DELETE /missing":  "405 | Allow: GET, HEAD",
			"OPTIONS /":        "405 | Allow: GET, HEAD",
			"OPTIONS / | Origin: https://a.example | Access-Control-Request-Method: GET": "405 | Allow: GET, HEAD | " +
				"Access-Control-Allow-Origin:",
		},
	},
	"paths in all scripts": {
		serving: v1beta1.WebsiteServing{
			NotFoundPath: "/größe fehlt.html",
			Redirects: []v1beta1.Redirect{
				{From: "/größe", To: "/size", StatusCode: 301},
				{From: "/%E6%97%A5%e6%9c%ac", To: "/japan?a=b#c", StatusCode: 302},
				{From: "/it's a;b{}", To: "/its", StatusCode: 301},
				{From: "/100%25", To: "/all", StatusCode: 301},
				{From: "/what%3F%23", To: "/why", StatusCode: 301},
				{From: "/star/%2A", To: "/sky", StatusCode: 301},
				{From: "/ä b/*", To: "/c/:splat", StatusCode: 301},
				{From: "/ä b/ö/*", To: "https://example.com/:splat?p=:splat", StatusCode: 301},
			},
			Headers: []v1beta1.ResponseHeader{
				{Path: "/straße/*", Name: "X-Below", Value: "all"},
				{Path: "/stra%C3%9Fe/eins", Name: "X-Below", Value: "one"},
				{Path: "/it's; x", Name: "X-Space", Value: "yes"},
				{Path: "/assets/*", Name: "Cache-Control", Value: "max-age=600"},
			},
		},
		files: []string{"index.html", "größe fehlt.html", "assets/app.js", "assetsX.js", "straße/eins.html",
			"straße/zwei.html"},
		want: map[string]string{
			"/gr%C3%B6%C3%9Fe":             "301 | Location: /size",
			"/gr%c3%b6%c3%9fe?x=1":         "301 | Location: /size?x=1",
			"/größe":                       "301 | Location: /size",
			"/gr%C3%B6%C3%9Fe/":            "404 : the content of größe fehlt.html",
			"/GR%C3%B6%C3%9Fe":             "404 : the content of größe fehlt.html",
			"/%E6%97%A5%E6%9C%AC":          "302 | Location: /japan?a=b#c",
			"/it's%20a;b{}":                "301 | Location: /its",
			"/it%27s%20a%3Bb%7B%7D":        "301 | Location: /its",
			"/100%25":                      "301 | Location: /all",
			"/what%3F%23":                  "301 | Location: /why",
			"/what?%23":                    "404",
			"/star/*":                      "301 | Location: /sky",
			"/star/x":                      "404",
			"/%C3%A4%20b/":                 "301 | Location: /c/",
			"/%C3%A4%20b/x/y?z=1":          "301 | Location: /c/x/y?z=1",
			"/%c3%a4%20b/x%20y":            "301 | Location: /c/x%20y",
			"/%C3%A4%20b/x%0Ay":            "301 | Location: /c/x%0Ay",
			"/%C3%A4%20b/%C3%B6/%E6%97%A5": "301 | Location: https://example.com/%E6%97%A5?p=%E6%97%A5",
			"/%C3%A4%20b":                  "404",
			"/stra%C3%9Fe/eins":            "200 | X-Below: one : the content of straße/eins.html",
			"/stra%C3%9Fe/zwei":            "200 | X-Below: all : the content of straße/zwei.html",
			"/stra%C3%9Fe/":                "404 | X-Below: all : the content of größe fehlt.html",
			"/stra%C3%9Fe":                 "301 | X-Below: | Location: /stra%C3%9Fe/",
			"/it's;%20x":                   "404 | X-Space: yes",
			"/its":                         "404 | X-Space:",
			"/assets/app.js":               "200 | Cache-Control: max-age=600",
			"/assetsX.js":                  "200 | Cache-Control: " + revalidate,
			"/assets/missing":              "404 | Cache-Control: " + revalidate,
		},
	},
	"the nearest page for what is missing": {
		files: []string{
			"index.html", "404.html", "de/404.html", "de/hilfe/index.html", "de/tief/a/b/c/404.html",
			"fr/404.html/index.html", "leer/",
			".hidden/404.html", "sub/.hidden/404.html", "größe/404.html", ".well-known/404.html", "what?/404.html",
		},
		want: map[string]string{
			"/missing":                    "404 | Cache-Control: " + revalidate + " : the content of 404.html",
			"/de/missing":                 "404 | Cache-Control: " + revalidate + " : the content of de/404.html",
			"/de/missing.js":              "404 : the content of de/404.html",
			"/de/missing?a=b":             "404 : the content of de/404.html",
			"/missing?a=/de/x":            "404 : the content of 404.html",
			"/de/":                        "404 : the content of de/404.html",
			"/de/missing/":                "404 : the content of de/404.html",
			"/de/hilfe/missing":           "404 : the content of de/404.html",
			"/de/hilfe/no/such/directory": "404 : the content of de/404.html",
			"/de/tief/a/b/c/missing":      "404 : the content of de/tief/a/b/c/404.html",
			"/de/tief/a/b/missing":        "404 : the content of de/404.html",
			"/de/1/2/3/4/5/6/7":           "404 : the content of de/404.html",
			"/de/1/2/3/4/5/6/7/8/9":       "404 : the content of 404.html",
			"/fr/missing":                 "404 : the content of 404.html",
			"/leer/":                      "404 : the content of 404.html",
			"/d/missing":                  "404 : the content of 404.html",
			"/DE/missing":                 "404 : the content of 404.html",
			"/de/../missing":              "404 : the content of 404.html",
			"/x/../de/missing":            "404 : the content of de/404.html",
			"/%64e/missing":               "404 : the content of de/404.html",
			"/gr%C3%B6%C3%9Fe/missing":    "404 : the content of größe/404.html",
			"/what%3F/missing":            "404 : the content of what?/404.html",
			"/de/%0Amissing":              "404 : the content of de/404.html",
			"/.hidden/missing":            "404 : the content of 404.html",
			"/.hidden/404.html":           "404 : the content of 404.html",
			"/sub/.hidden/missing":        "404 : the content of 404.html",
			"/sub/.hidden/a/missing":      "404 : the content of 404.html",
			"/de/.git":                    "404 : the content of 404.html",
			"/.well-known/missing":        "404 : the content of .well-known/404.html",
			"/.error/de/missing":          "404 : the content of 404.html",
			"/.error/404.html?/.hidden/x": "404 : the content of 404.html",
			"/de/404.html":                "200 : the content of de/404.html",
			"/de":                         "301 | Location: /de/",
			"HEAD /de/missing":            "404",
		},
	},
	"the nearest page and one by another name": {
		serving: v1beta1.WebsiteServing{NotFoundPath: "/errors/missing"},
		files:   []string{"index.html", "errors/missing.html", "de/404.html", "404.html"},
		want: map[string]string{
			"/missing":    "404 : the content of errors/missing.html",
			"/de/missing": "404 : the content of de/404.html",
			"/fr/missing": "404 : the content of errors/missing.html",
		},
	},
	"a directory without an index of a single page": {
		serving: v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA},
		files:   []string{"index.html", "de/404.html", "404.html"},
		want: map[string]string{
			"/de/":        "200 : the content of index.html",
			"/de/gone.js": "404 | Cache-Control: no-store : the content of de/404.html",
		},
	},
	"files of other hosts are not published": {
		files: []string{
			"index.html", "404.html", "_headers", "_redirects", "netlify.toml", "wrangler.toml", "wrangler.json",
			"wrangler.jsonc",
			"_headers.txt", "docs/_headers", "docs/netlify.toml",
		},
		want: map[string]string{
			"/_headers":          "404 : the content of 404.html",
			"/_redirects":        "404 : the content of 404.html",
			"/%5Fredirects":      "404 : the content of 404.html",
			"//_redirects":       "404 : the content of 404.html",
			"/docs/../_headers":  "404 : the content of 404.html",
			"/netlify.toml":      "404 : the content of 404.html",
			"/netlify%2Etoml":    "404 : the content of 404.html",
			"/wrangler.toml":     "404 : the content of 404.html",
			"/wrangler.json":     "404 : the content of 404.html",
			"/wrangler.jsonc":    "404 : the content of 404.html",
			"HEAD /_headers":     "404",
			"/_headers.txt":      "200 : the content of _headers.txt",
			"/docs/_headers":     "200 : the content of docs/_headers",
			"/docs/netlify.toml": "200 : the content of docs/netlify.toml",
		},
	},
	"a file of another host is no page for errors": {
		serving: v1beta1.WebsiteServing{NotFoundPath: "/_redirects"},
		files:   []string{"index.html", "_redirects"},
		want:    map[string]string{"/missing": "404 | Content-Type: text/html; charset=utf-8"},
	},
	"ranges": {
		serving: v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{
			{Path: "/*", Name: "Access-Control-Allow-Origin", Value: "*"},
			{Path: "/film.mp4", Name: "Cache-Control", Value: "max-age=600"},
		}},
		files: []string{"index.html", "film.mp4"},
		want: map[string]string{
			"/film.mp4": "200 | Cache-Control: max-age=600 : the content " +
				"of film.mp4",
			"/film.mp4 | Range: bytes=0-": "206 | Cache-Control: max-age=600 : the content " +
				"of film.mp4",
			"/film.mp4 | Range: bytes=0-2": "206 | Content-Range: bytes 0-2/23 | Cache-Control: " +
				"max-age=600 : the",
			"/film.mp4 | Range: bytes=4-10": "206 | Content-Range: bytes 4-10/23 | Cache-Control: " +
				revalidate + " : content",
			"/film.mp4 | Range: bytes=-3": "206 | Content-Range: bytes 20-22/23 : mp4",
			"/film.mp4 | Range: bytes=99-": "416 | Content-Range: bytes */23 | " +
				"Access-Control-Allow-Origin: * | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=-0": "416 | Content-Range: bytes */23 | Cache-Control: " +
				revalidate,
			"HEAD /film.mp4 | Range: bytes=99-":                     "416 | Access-Control-Allow-Origin: *",
			"/film.mp4 | Range: bytes=x-":                           "416 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=4-10 | If-Range: \"another\"": "200 : the content of film.mp4",
			"/film.mp4 | If-Match: \"another\"":                     "412 | Access-Control-Allow-Origin: *",
			"/film.mp4 | If-None-Match: *":                          "304 | Access-Control-Allow-Origin: *",
			"/missing | Range: bytes=99-":                           "404 | Access-Control-Allow-Origin: *",
		},
	},
	"other origins": {
		serving: v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{
			{Path: "/api/*", Name: "Access-Control-Allow-Origin", Value: "https://a.example"},
			{Path: "/api/*", Name: "Access-Control-Allow-Headers", Value: "x-client"},
		}},
		files: []string{"index.html", "api/data.json"},
		want: map[string]string{
			"/api/data.json": "200 | Access-Control-Allow-Origin: https://a.example",
			"OPTIONS /api/data.json | Origin: https://a.example | Access-Control-Request-Method: GET": "204 | Allow: | " +
				"Access-Control-Allow-Origin: https://a.example | Access-Control-Allow-Headers: x-client",
			"OPTIONS /api/missing | Origin: https://a.example | Access-Control-Request-Method: GET": "204 | " +
				"Access-Control-Allow-Origin: https://a.example",
			"OPTIONS /api/data.json | Origin: https://a.example":          "405 | Allow: GET, HEAD",
			"OPTIONS /api/data.json | Access-Control-Request-Method: GET": "405 | Allow: GET, HEAD",
			"OPTIONS /api/data.json":                                      "405 | Allow: GET, HEAD",
			"OPTIONS / | Origin: https://a.example | Access-Control-Request-Method: GET": "405 | Allow: GET, HEAD | " +
				"Access-Control-Allow-Origin:",
			"POST /api/data.json | Origin: https://a.example | Access-Control-Request-Method: GET": "405 | Allow: GET, HEAD",
		},
	},
	"a protected site": {
		protected: true,
		serving: v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{
			{Path: "/api/*", Name: "Access-Control-Allow-Origin", Value: "https://a.example"},
		}},
		files: []string{"index.html", "404.html", "api/data.json", "_headers"},
		want: map[string]string{
			"/": `401 | WWW-Authenticate: Basic realm="Website", charset="UTF-8" | ` +
				`Cache-Control: no-store`,
			"/missing":                          "401",
			"/_headers":                         "401",
			"/api/data.json":                    "401 | Access-Control-Allow-Origin: https://a.example",
			"/api/data.json | Range: bytes=99-": "401",
			"OPTIONS /":                         "405 | WWW-Authenticate:",
			"OPTIONS /api/data.json | Origin: https://a.example | Access-Control-Request-Method: GET": "204 | " +
				"WWW-Authenticate: | Access-Control-Allow-Origin: https://a.example",
		},
	},
	"a single page with rules for its assets": {
		serving: v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA, Headers: []v1beta1.ResponseHeader{
			{Path: "/assets/*", Name: "Cache-Control", Value: "public, max-age=31536000, immutable"},
		}},
		files: []string{"index.html", "assets/app.js"},
		want: map[string]string{
			"/assets/app.js":  "200 | Cache-Control: public, max-age=31536000, immutable : the content of assets/app.js",
			"/assets/gone.js": "404 | ETag: | Cache-Control: no-store",
			"/assets/gone.js | Sec-Fetch-Mode: navigate": "200 | ETag: | Cache-Control: " + revalidate +
				" : the content of index.html",
			"/about.html": "200 | ETag: " + tagOf("the content of index.html") + " | Cache-Control: " + revalidate +
				" : the content of index.html",
			"/users/jane": "200 | ETag: " + tagOf("the content of index.html") + " | Cache-Control: " + revalidate +
				" : the content of index.html",
			"/v1.2/": "200 | ETag: " + tagOf("the content of index.html") + " | Cache-Control: " + revalidate +
				" : the content of index.html",
		},
	},
	"a single page": {
		serving: v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA},
		files:   []string{"index.html", "404.html", "app.js", "about.html"},
		want: map[string]string{
			"/":                                   "200 : the content of index.html",
			"/app.js | Sec-Fetch-Mode: no-cors":   "200 : the content of app.js",
			"/about | Sec-Fetch-Mode: cors":       "200 : the content of about.html",
			"/users/1":                            "200 | Cache-Control: " + revalidate + " : the content of index.html",
			"/users/":                             "200 : the content of index.html",
			"/users/1 | Accept: */*":              "200 : the content of index.html",
			"/users/1 | Sec-Fetch-Mode: navigate": "200 : the content of index.html",
			"/users/j.doe | Sec-Fetch-Mode: navigate":    "200 | ETag: : the content of index.html",
			"/users/j.doe | Accept: text/html,*/*;q=0.8": "200 : the content of index.html",
			"/users/j.doe": "404 | Cache-Control: no-store : the content of 404.html",
			"/missing.js | Sec-Fetch-Mode: no-cors | Accept: */*": "404 | Cache-Control: no-store : the " +
				"content of 404.html",
			"/missing.css | Sec-Fetch-Mode: no-cors | Accept: text/css,*/*;q=0.1": "404 | Cache-Control: no-store",
			"/missing.png | Accept: image/avif,image/webp,*/*":                    "404 | Cache-Control: no-store",
			"/missing.js | Accept: */*":                                           "404 | Cache-Control: no-store",
			"/missing.js":                                                         "404 | Cache-Control: no-store",
			"/users/1 | Sec-Fetch-Mode: cors | Accept: text/html":                 "404 | Cache-Control: no-store",
			"/missing.js | Sec-Fetch-Mode: navigate": "200 | Cache-Control: " + revalidate +
				" : the content of index.html",
			"HEAD /missing.js": "404 | Cache-Control: no-store",
			"/.git":            "404",
		},
	},
}

func TestNginxRequests(t *testing.T) {
	for name, table := range requestTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tweak := withServing(table.serving)
			if table.protected {
				tweak = func(w *v1beta1.Website) { withServing(table.serving)(w); withUsers("readers")(w) }
			}
			s := startNginx(t, tweak)
			if table.protected {
				s.writeFile(s.users, "")
			}
			for _, file := range table.files {
				if strings.HasSuffix(file, "/") {
					s.mkdir("releases/" + commitA + "/" + file)
				} else {
					s.write(commitA, file, "the content of "+file)
				}
			}
			s.publish("releases/" + commitA)
			for request, want := range table.want {
				s.row(request, want)
			}
		})
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
	if got := response.Header.Get("Website-Commit"); got != commitA {
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
