package resources

import "github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"

// singlePageRequests are for single-page applications.
var singlePageRequests = map[string]requestTable{
	"a directory without an index of a single page": {
		serving: v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA},
		files:   []string{"index.html", "de/404.html", "404.html"},
		want: map[string]string{
			"/de/":        "200 : the content of index.html",
			"/de/gone.js": "404 | Cache-Control: no-store : the content of de/404.html",
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
	"a single page without its page": {
		serving: v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA},
		files: []string{
			"sub/file.txt",
		},
		want: map[string]string{
			"/":             "404",
			"/route":        "404",
			"/sub/":         "404",
			"/sub/file.txt": "200",
		},
	},
	"what a shared cache may keep of a single page": {
		long:    true,
		serving: v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA},
		files: []string{
			"index.html", "about.html", "photo.png",
		},
		want: map[string]string{
			"/users/1": "200 | Vary: Accept-Encoding, Sec-Fetch-Mode, Accept",
			"/users/1 | Accept-Encoding: gzip": "200 | Content-Encoding: gzip | Vary: Accept-Encoding, " +
				"Sec-Fetch-Mode, Accept",
			"/users/1 | Sec-Fetch-Mode: navigate":    "200 | Vary: Accept-Encoding, Sec-Fetch-Mode, Accept",
			"/users/1 | If-None-Match: *":            "304 | Vary: Accept-Encoding, Sec-Fetch-Mode, Accept",
			"/users/1 | Sec-Fetch-Mode: cors":        "404 | Cache-Control: no-store",
			"/missing.js | Sec-Fetch-Mode: navigate": "200 | Vary: Accept-Encoding, Sec-Fetch-Mode, Accept",
			"/":                                      "200 | Vary: Accept-Encoding",
			"/about":                                 "200 | Vary: Accept-Encoding",
			"/ | If-None-Match: *":                   "304 | Vary: Accept-Encoding",
			"/photo.png":                             "200 | Vary:",
			"/users/1 | Range: bytes=0-2":            "206 : the",
		},
	},
}
