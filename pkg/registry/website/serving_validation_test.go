package website

import (
	"fmt"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func serving(tweak func(*v1beta1.WebsiteServing)) func(*website.Website) {
	return func(w *website.Website) { tweak(&w.Spec.Serving) }
}

func redirect(from, to string, code int32) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Serving.Redirects = append(w.Spec.Serving.Redirects, v1beta1.Redirect{From: from, To: to, StatusCode: code})
	}
}

// prefixRedirects adds n redirects from all paths with a prefix.
func prefixRedirects(n int) func(*website.Website) {
	return func(w *website.Website) {
		for i := range n {
			redirect(fmt.Sprintf("/%d/*", i), "/", 301)(w)
		}
	}
}

// longRedirects adds n redirects of the maximum length.
func longRedirects(n int) func(*website.Website) {
	return func(w *website.Website) {
		for i := range n {
			redirect(fmt.Sprintf("/%04d%s", i, strings.Repeat("a", 1019)), "/"+strings.Repeat("b", 2047), 301)(w)
		}
	}
}

func redirects(n int) func(*website.Website) {
	return func(w *website.Website) {
		for i := range n {
			redirect(fmt.Sprintf("/%d", i), "/x", 301)(w)
		}
	}
}

// redirectsOf adds n redirects between paths of these lengths.
func redirectsOf(n, from, to int) func(*website.Website) {
	return func(w *website.Website) {
		for i := range n {
			redirect(fmt.Sprintf("/%0*d", from-1, i), fmt.Sprintf("/%0*d", to-1, i), 301)(w)
		}
	}
}

func header(path, name, value string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Serving.Headers = append(w.Spec.Serving.Headers, v1beta1.ResponseHeader{Path: path, Name: name, Value: value})
	}
}

func contentType(path, extension, contentType string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Serving.Types = append(w.Spec.Serving.Types,
			v1beta1.ContentType{Path: path, Extension: extension, Type: contentType})
	}
}

func types(n int) func(*website.Website) {
	return func(w *website.Website) {
		for i := range n {
			contentType("", fmt.Sprint("e", i), "a/b")(w)
		}
	}
}

func headers(n int) func(*website.Website) {
	return func(w *website.Website) {
		for i := range n {
			header(fmt.Sprintf("/%d", i), "X-A", "1")(w)
		}
	}
}

// servingCases cover the serving of files.
var servingCases = map[string]specCase{
	"index": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Index = "home.htm" })},
	"index with path": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Index = "a/b" }),
		want: []string{`spec.serving.index: Invalid value: "a/b": must be the name of a file: letters, digits and the ` +
			`characters . _ -, not beginning with '.' or '-'`}},
	"index like option": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Index = "-x" }),
		want: []string{`spec.serving.index: Invalid value: "-x": must be the name of a file: letters, digits and the ` +
			`characters . _ -, not beginning with '.' or '-'`}},
	"index too long": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Index = strings.Repeat("a", 256) }),
		want: []string{"spec.serving.index: Too long: may not be more than 255 characters"}},
	"not found": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.NotFoundPath = "/errors/404.html" })},
	"not found, relative": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.NotFoundPath = "404.html" }),
		want: []string{`spec.serving.notFoundPath: Invalid value: "404.html": must begin with '/'`}},
	"not found, variable": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.NotFoundPath = "/$x" }),
		want: []string{`spec.serving.notFoundPath: Invalid value: "/$x": must consist of printable characters ` +
			`and spaces, without '"', '$' and '\', also where encoded`}},
	"not found, upwards": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.NotFoundPath = "/../x" }),
		want: []string{`spec.serving.notFoundPath: Invalid value: "/../x": must not contain the segment '.' or '..'`}},
	"not found, too long": {
		tweak: serving(func(s *v1beta1.WebsiteServing) { s.NotFoundPath = "/" + strings.Repeat("a", 1024) }),
		want:  []string{"spec.serving.notFoundPath: Too long: may not be more than 1024 characters"},
	},
	"fallback": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Fallback = v1beta1.FallbackSPA })},
	"fallback unknown": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Fallback = "Index" }),
		want: []string{`spec.serving.fallback: Unsupported value: "Index": supported values: "None", "SPA"`}},

	"redirects": {tweak: tweaks(redirect("/old-page", "/new?a=b#c", 302),
		redirect("/b", "https://example.com/b", 308))},
	"redirect to http": {tweak: redirect("/a", "http://example.com:8080", 307)},
	"redirect from nothing": {tweak: redirect("", "/b", 301),
		want: []string{"spec.serving.redirects[0].from: Required value"}},
	"redirect to nothing": {tweak: redirect("/a", "", 301),
		want: []string{"spec.serving.redirects[0].to: Required value"}},
	"redirect from relative": {tweak: redirect("a", "/b", 301),
		want: []string{`spec.serving.redirects[0].from: Invalid value: "a": must begin with '/'`}},
	"redirect from variable": {tweak: redirect("/$a", "/b", 301), want: []string{`spec.serving.redirects[0].from: ` +
		`Invalid value: "/$a": must consist of printable characters and spaces, without '"', '$' and '\', also ` +
		`where encoded`}},
	"redirect from query": {tweak: redirect("/a?b", "/b", 301), want: []string{`spec.serving.redirects[0].from: ` +
		`Invalid value: "/a?b": must not contain a query string or fragment: write '%3F' for '?' and '%23' for '#' ` +
		`in a path`}},
	"redirect from slashes": {tweak: redirect("//a", "/b", 301),
		want: []string{`spec.serving.redirects[0].from: Invalid value: "//a": must not contain '//'`}},
	"redirect from upwards": {
		tweak: redirect("/a/../b", "/b", 301),
		want:  []string{`spec.serving.redirects[0].from: Invalid value: "/a/../b": must not contain the segment '.' or '..'`},
	},
	"redirect from at length": {tweak: redirect("/"+strings.Repeat("a", 1023), "/"+strings.Repeat("b", 2047), 301)},
	"redirect from too long": {tweak: redirect("/"+strings.Repeat("a", 1024), "/b", 301),
		want: []string{"spec.serving.redirects[0].from: Too long: may not be more than 1024 characters"}},
	"redirect to too long": {tweak: redirect("/a", "/"+strings.Repeat("b", 2048), 301),
		want: []string{"spec.serving.redirects[0].to: Too long: may not be more than 2048 characters"}},
	"redirect to itself": {tweak: redirect("/a", "/a", 301),
		want: []string{`spec.serving.redirects[0].to: Invalid value: "/a": must not redirect to itself`}},
	"redirect to relative": {tweak: redirect("/a", "b", 301), want: []string{`spec.serving.redirects[0].to: Invalid ` +
		`value: "b": must be an absolute path, or an https:// or http:// URL`}},
	"redirect to script": {
		tweak: redirect("/a", "javascript:alert(1)", 301), want: []string{`spec.serving.redirects[0].to: Invalid value: ` +
			`"javascript:alert(1)": must be an absolute path, or an https:// or http:// URL`},
	},
	"redirect to a host": {
		tweak: redirect("/a", "//evil.example.com", 301), want: []string{`spec.serving.redirects[0].to: Invalid value: ` +
			`"//evil.example.com": must not begin with '//', which browsers read as another host`},
	},
	"redirect to directive": {tweak: redirect("/a", "/b;return", 301), want: []string{`spec.serving.redirects[0].to: ` +
		`Invalid value: "/b;return": must not contain white space, control characters, quotes or other characters that are ` +
		`not legal in a URL, nor '$' or ';'`}},
	"redirect to variable": {
		tweak: redirect("/a", "https://$host/b", 301), want: []string{`spec.serving.redirects[0].to: Invalid value: ` +
			`"https://$host/b": must not contain white space, control characters, quotes or other characters that are not ` +
			`legal in a URL, nor '$' or ';'`},
	},
	"redirect to no host": {tweak: redirect("/a", "https:///b", 301),
		want: []string{`spec.serving.redirects[0].to: Invalid value: "https:///b": must name a host`}},
	"redirect with password": {
		tweak: redirect("/a", "https://u:p@example.com/", 301), want: []string{`spec.serving.redirects[0].to: Invalid ` +
			`value: "https://u:xxxxx@example.com/": must not contain a user name or password`},
	},
	"redirect to bad escape": {tweak: redirect("/a", "/%zz", 301),
		want: []string{`spec.serving.redirects[0].to: Invalid value: "/%zz": invalid URL escape "%zz"`}},
	"redirect code": {tweak: redirect("/a", "/b", 303)},
	"redirect status unknown": {tweak: redirect("/a", "/b", 304), want: []string{`spec.serving.redirects[0].statusCode: ` +
		`Unsupported value: 304: supported values: "301", "302", "303", "307", "308"`}},
	"redirect twice": {tweak: tweaks(redirect("/a", "/b", 301), redirect("/a", "/c", 301)),
		want: []string{`spec.serving.redirects[1].from: Duplicate value: "/a"`}},
	"redirects at most": {tweak: redirects(2000)},
	"redirects from all scripts": {tweak: tweaks(redirect("/größe", "/size", 301), redirect("/it's a;b", "/b", 301),
		redirect("/%E6%97%A5/*", "/:splat", 301))},
	"redirect twice, encoded": {tweak: tweaks(redirect("/größe", "/b", 301), redirect("/gr%c3%b6%C3%9Fe", "/c", 301)),
		want: []string{`spec.serving.redirects[1].from: Duplicate value: "/gr%c3%b6%C3%9Fe"`}},
	"redirect to itself, encoded": {tweak: redirect("/größe", "/gr%C3%B6%C3%9Fe", 301),
		want: []string{`spec.serving.redirects[0].to: Invalid value: "/gr%C3%B6%C3%9Fe": must not redirect to itself`}},
	"prefix to itself, encoded": {tweak: redirect("/ö/*", "/%C3%B6/:splat", 301),
		want: []string{`spec.serving.redirects[0].to: ` +
			`Invalid value: "/%C3%B6/:splat": must not be a path that 'from' matches, which redirects without end`}},
	"redirect from a line feed, encoded": {tweak: redirect("/a%0Ab", "/b", 301),
		want: []string{`spec.serving.redirects[0].from: ` +
			`Invalid value: "/a%0Ab": must consist of printable characters and spaces, without '"', '$' and '\', also ` +
			`where encoded`}},
	"redirect from a bad escape": {tweak: redirect("/100%", "/b", 301), want: []string{`spec.serving.redirects[0].from: ` +
		`Invalid value: "/100%": must have two hexadecimal digits after '%': write '%25' for '%'`}},
	"redirect from too many bytes": {tweak: redirect("/"+strings.Repeat("é", 512), "/b", 301), want: []string{
		`spec.serving.redirects[0].from: Invalid value: "/` + strings.Repeat("é", 512) + `": must not be longer than 1024 ` +
			`bytes, decoded`}},
	"not found, all scripts": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.NotFoundPath = "/größe fehlt.html" })},
	"not found, query": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.NotFoundPath = "/a%3Fb" }),
		want: []string{`spec.serving.notFoundPath: Invalid value: "/a%3Fb": must not contain '?', also not where encoded`}},
	"header path with a star": {tweak: header("/größe/*", "X-A", "1")},
	"header path, star within": {tweak: header("/assets/*.js", "X-A", "1"),
		want: []string{`spec.serving.headers[0].path: ` +
			`Invalid value: "/assets/*.js": must contain '*' only as the last segment`}},
	"header path with a placeholder": {tweak: header("/:lang/", "X-A", "1"),
		want: []string{`spec.serving.headers[0].path: ` +
			`Invalid value: "/:lang/": must not contain a placeholder: only '*' as the last segment is supported`}},
	"header twice, with a star": {tweak: tweaks(header("/ä/*", "X-A", "1"), header("/%C3%A4/*", "X-A", "2")),
		want: []string{`spec.serving.headers[1].name: Duplicate value: "X-A"`}},

	"prefix": {tweak: tweaks(redirect("/blog/*", "/news/:splat", 301),
		redirect("/blog/", "/news", 301))},
	"prefix to a host":   {tweak: redirect("/*", "https://example.com/a/:splat?b=:splat#:splat", 301)},
	"prefix to one path": {tweak: redirect("/blog/*", "/", 301)},
	"star within a segment": {
		tweak: redirect("/blog*", "/news", 301),
		want:  []string{`spec.serving.redirects[0].from: Invalid value: "/blog*": must contain '*' only as the last segment`},
	},
	"star before the end": {
		tweak: redirect("/a/*/b", "/news", 301),
		want:  []string{`spec.serving.redirects[0].from: Invalid value: "/a/*/b": must contain '*' only as the last segment`},
	},
	"two stars": {
		tweak: redirect("/a/*/*", "/news", 301),
		want:  []string{`spec.serving.redirects[0].from: Invalid value: "/a/*/*": must contain '*' only as the last segment`},
	},
	"placeholder": {
		tweak: redirect("/blog/:year", "/news", 301), want: []string{`spec.serving.redirects[0].from: Invalid value: ` +
			`"/blog/:year": must not contain a placeholder: only '*' as the last segment is supported`},
	},
	"placeholder in the target": {
		tweak: redirect("/blog/*", "/news/:year/:splat", 301), want: []string{`spec.serving.redirects[0].to: Invalid ` +
			`value: "/news/:year/:splat": must not contain a placeholder other than ':splat'`},
	},
	"splat without star": {
		tweak: redirect("/blog", "/news/:splat", 301), want: []string{`spec.serving.redirects[0].to: Invalid value: ` +
			`"/news/:splat": must not contain ':splat' unless 'from' ends in '/*'`},
	},
	"splat with more": {
		tweak: redirect("/blog/*", "/news/a:splats", 301), want: []string{`spec.serving.redirects[0].to: Invalid value: ` +
			`"/news/a:splats": must not contain a letter, digit or '_' after ':splat'`},
	},
	"splat in the host": {tweak: redirect("/blog/*", "https://example.com:splat/", 301),
		want: []string{`spec.serving.redirects[0].to: Invalid value: "https://example.com:splat/": must not contain ` +
			`':splat' in the host`, `spec.serving.redirects[0].to: Invalid value: "https://example.com:splat/": invalid port ` +
			`":splat" after host`}},
	"prefix to itself": {
		tweak: redirect("/blog/*", "/blog/:splat", 301), want: []string{`spec.serving.redirects[0].to: Invalid value: ` +
			`"/blog/:splat": must not be a path that 'from' matches, which redirects without end`},
	},
	"prefix to below itself": {
		tweak: redirect("/blog/*", "/blog/new?a=b", 301), want: []string{`spec.serving.redirects[0].to: Invalid value: ` +
			`"/blog/new?xxxxx": must not be a path that 'from' matches, which redirects without end`},
	},
	"all paths to one": {
		tweak: redirect("/*", "/maintenance", 301), want: []string{`spec.serving.redirects[0].to: Invalid value: ` +
			`"/maintenance": must not be a path that 'from' matches, which redirects without end`},
	},
	"prefix that is reserved": {
		tweak: redirect("/.error/*", "/a", 301), want: []string{`spec.serving.redirects[0].from: Invalid value: ` +
			`"/.error/*": must not begin with '/.error/', which is reserved`},
	},
	"prefixes at most": {tweak: prefixRedirects(100)},
	"too many prefixes": {tweak: prefixRedirects(101), want: []string{"spec.serving.redirects: Invalid value: " +
		"101: must have at most 100 redirects from a path that ends in '/*'"}},
	"a colon within a segment": {tweak: redirect("/wiki/Talk:Main", "/talk/Main:1", 301)},
	"more than fits into a spec": {tweak: longRedirects(43), want: []string{"spec.serving.redirects: Too long: the spec " +
		"may not be more than 131072 bytes as JSON: it has 133314, 132957 of them here"}},
	"as much as fits": {tweak: longRedirects(42)},
	"redirects at most, of paths with 45 bytes together": {tweak: redirectsOf(2000, 22, 23)},
	"redirects at most, of paths with 45 bytes and a code": {tweak: tweaks(redirectsOf(1999, 22, 23),
		redirect("/a", "/b", 308))},
	"redirects at most, of paths with 46 bytes together": {
		tweak: redirectsOf(2000, 22, 24), want: []string{"spec.serving.redirects: Too long: the spec may not be more than " +
			"131072 bytes as JSON: it has 132358, 132001 of them here"},
	},

	"too many redirects": {tweak: redirects(2001),
		want: []string{"spec.serving.redirects: Too many: 2001: must have at most 2000 items"}},

	"headers": {tweak: tweaks(header("/", "Content-Security-Policy", "default-src 'self'; img-src *"),
		header("/a/", "Link", `</a.css>; rel="preload"`))},
	"header for two paths": {tweak: tweaks(header("/", "X-A", "1"), header("/a/", "X-A", "2"))},
	"header path relative": {tweak: header("a", "X-A", "1"),
		want: []string{`spec.serving.headers[0].path: Invalid value: "a": must begin with '/'`}},
	"header at length": {tweak: header("/"+strings.Repeat("a", 1023), strings.Repeat("X", 128),
		strings.Repeat("a", 4096))},
	"header path too long": {tweak: header("/"+strings.Repeat("a", 1024), "X-A", "1"),
		want: []string{"spec.serving.headers[0].path: Too long: may not be more than 1024 characters"}},
	"header name too long": {tweak: header("/", strings.Repeat("X", 129), "1"),
		want: []string{"spec.serving.headers[0].name: Too long: may not be more than 128 characters"}},
	"headers at most":     {tweak: headers(100)},
	"header without name": {tweak: header("/", "", "1"), want: []string{"spec.serving.headers[0].name: Required value"}},
	"header without value": {tweak: header("/", "X-A", ""),
		want: []string{"spec.serving.headers[0].value: Required value"}},
	"header with colon": {tweak: header("/", "X:", "1"), want: []string{`spec.serving.headers[0].name: Invalid ` +
		`value: "X:": must consist of letters, digits and '-', and begin and end with a letter or digit`}},
	"header of the hop": {
		tweak: header("/", "Transfer-Encoding", "chunked"), want: []string{`spec.serving.headers[0].name: Invalid value: ` +
			`"Transfer-Encoding": must not be a connection header, or a header that nginx sets`},
	},
	"header of the framing": {tweak: header("/", "content-length", "1"), want: []string{`spec.serving.headers[0].name: ` +
		`Invalid value: "content-length": must not be a connection header, or a header that nginx sets`}},
	"header split": {tweak: header("/", "X-A", "1\r\nX-B: 2"), want: []string{`spec.serving.headers[0].value: ` +
		`Invalid value: "1\r\nX-B: 2": must consist of printable ASCII characters other than '$' and '\'`}},
	"header with variable": {tweak: header("/", "X-A", "$host"), want: []string{`spec.serving.headers[0].value: ` +
		`Invalid value: "$host": must consist of printable ASCII characters other than '$' and '\'`}},
	"header with space": {tweak: header("/", "X-A", " 1"),
		want: []string{`spec.serving.headers[0].value: Invalid value: " 1": must not begin or end with a space`}},
	"header twice": {tweak: tweaks(header("/", "X-A", "1"), header("/", "x-a", "2")),
		want: []string{`spec.serving.headers[1].name: Duplicate value: "x-a"`}},
	"header value too long": {tweak: header("/", "X-A", strings.Repeat("a", 4097)),
		want: []string{"spec.serving.headers[0].value: Too long: may not be more than 4096 characters"}},
	"header for a path and for all below it": {tweak: tweaks(header("/a/", "X-A", "1"), header("/a/*", "X-A", "2"))},
	"header for caches of no file": {tweak: header("/a/", "CDN-Cache-Control", "no-store"),
		want: []string{`spec.serving.headers[0].path: Invalid value: "/a/": must be the path of a file for the header ` +
			`CDN-Cache-Control, such as /a/index.html, or end in '/*'`}},
	"headers for caches": {tweak: tweaks(header("/*", "Cache-Control", "no-store"),
		header("/index.html", "Cache-Control", "no-cache"))},
	"too many headers": {tweak: headers(101),
		want: []string{"spec.serving.headers: Too many: 101: must have at most 100 items"}},

	"types": {tweak: tweaks(contentType("/data/*", "", "application/geo+json"), contentType("/data/x", "", "text/plain"),
		contentType("", "dat", "text/plain; charset=Shift_JIS"), contentType("", "c++", "text/x-c;charset=utf-8"))},
	"types at length": {tweak: tweaks(contentType("/"+strings.Repeat("a", 1023), "", strings.Repeat("a", 127)+"/"+
		strings.Repeat("b", 127)), contentType("", strings.Repeat("a", 64), "a/b"))},
	"types at most": {tweak: types(100)},
	"too many types": {tweak: types(101),
		want: []string{"spec.serving.types: Too many: 101: must have at most 100 items"}},
	"type of nothing": {tweak: contentType("", "", "a/b"), want: []string{"spec.serving.types[0]: Invalid value: \"\": " +
		"must specify one of: `path`, `extension`"}},
	"type of a path and an extension": {tweak: contentType("/a", "b", "a/b"), want: []string{
		"spec.serving.types[0]: Invalid value: \"{path, extension}\": must specify exactly one of: `path`, `extension`"}},
	"no type": {tweak: contentType("/a", "", ""), want: []string{"spec.serving.types[0].type: Required value"}},
	"type path relative": {tweak: contentType("a", "", "a/b"),
		want: []string{`spec.serving.types[0].path: Invalid value: "a": must begin with '/'`}},
	"type path too long": {tweak: contentType("/"+strings.Repeat("a", 1024), "", "a/b"),
		want: []string{"spec.serving.types[0].path: Too long: may not be more than 1024 characters"}},
	"type of a directory": {tweak: contentType("/a/", "", "a/b"), want: []string{`spec.serving.types[0].path: ` +
		`Invalid value: "/a/": must be the path of a file, or end in '/*'`}},
	"type path twice": {tweak: tweaks(contentType("/ä", "", "a/b"), contentType("/%C3%A4", "", "a/b")),
		want: []string{`spec.serving.types[1].path: Duplicate value: "/%C3%A4"`}},
	"extension with a dot": {tweak: contentType("", ".tar.gz", "a/b"), want: []string{`spec.serving.types[0].extension: ` +
		`Invalid value: ".tar.gz": must consist of letters, digits, '_', '+' and '-': the part after the last dot of a ` +
		`name, without that dot`}},
	"extension too long": {tweak: contentType("", strings.Repeat("a", 65), "a/b"),
		want: []string{"spec.serving.types[0].extension: Too long: may not be more than 64 characters"}},
	"extension twice": {tweak: tweaks(contentType("", "dat", "a/b"), contentType("", "DAT", "a/b")),
		want: []string{`spec.serving.types[1].extension: Duplicate value: "DAT"`}},
	"type that ends the directive": {tweak: contentType("/a", "", "a/b; return 200"), want: []string{
		`spec.serving.types[0].type: Invalid value: "a/b; return 200": must be a media type such as application/json, and ` +
			`may have a charset parameter: '; charset=utf-8'`}},
	"type with a variable": {tweak: contentType("/a", "", "a/$host"), want: []string{
		`spec.serving.types[0].type: Invalid value: "a/$host": must be a media type such as application/json, and ` +
			`may have a charset parameter: '; charset=utf-8'`}},
	"type with an unknown charset": {tweak: contentType("/a", "", "text/plain; charset=latin9"), want: []string{
		`spec.serving.types[0].type: Unsupported value: "latin9": supported values: ` + charsetNames}},
	"type too long": {tweak: contentType("/a", "", "a/"+strings.Repeat("b", 254)),
		want: []string{"spec.serving.types[0].type: Too long: may not be more than 255 characters"}},

	"charset":      {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Charset = "shift_jis" })},
	"charset None": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Charset = v1beta1.CharsetNone })},
	"charset unknown": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Charset = "utf8" }), want: []string{
		`spec.serving.charset: Unsupported value: "utf8": supported values: ` + charsetNames + `, "None"`}},
	"charset too long": {tweak: serving(func(s *v1beta1.WebsiteServing) { s.Charset = strings.Repeat("a", 33) }),
		want: []string{"spec.serving.charset: Too long: may not be more than 32 characters"}},
}

// charsetNames are the supported ones, as an error names them.
const charsetNames = `"UTF-8", "Big5", "EUC-JP", "EUC-KR", "GBK", "IBM866", "ISO-2022-JP", "ISO-8859-1", ` +
	`"ISO-8859-2", "ISO-8859-3", "ISO-8859-4", "ISO-8859-5", "ISO-8859-6", "ISO-8859-7", "ISO-8859-8", "ISO-8859-8-I", ` +
	`"ISO-8859-10", "ISO-8859-13", "ISO-8859-14", "ISO-8859-15", "ISO-8859-16", "KOI8-R", "KOI8-U", "Shift_JIS", ` +
	`"UTF-16BE", "UTF-16LE", "gb18030", "macintosh", "windows-874", "windows-1250", "windows-1251", "windows-1252", ` +
	`"windows-1253", "windows-1254", "windows-1255", "windows-1256", "windows-1257", "windows-1258", "x-mac-cyrillic"`
