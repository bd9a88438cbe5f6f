package resources

import "github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"

// headerRequests are for headers of requests and responses.
var headerRequests = map[string]requestTable{
	"ranges": {
		serving: v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{
			{Path: "/*", Name: "Access-Control-Allow-Origin", Value: "*"},
			{Path: "/*", Name: "Cache-Control", Value: "max-age=600"},
		}},
		files: []string{"index.html", "film.mp4"},
		want: map[string]string{
			"/film.mp4": "200 | Cache-Control: max-age=600 : the content " +
				"of film.mp4",
			"/film.mp4 | Range: bytes=0-": "206 | Cache-Control: max-age=600 : the content " +
				"of film.mp4",
			"/film.mp4 | Range: bytes=0-2": "206 | Content-Range: bytes 0-2/23 | Cache-Control: " +
				"max-age=600 : the",
			"/film.mp4 | Range: bytes=4-10": "206 | Content-Range: bytes 4-10/23 | Cache-Control: max-age=600 : content",
			"/film.mp4 | Range: bytes=4-4":  "206 | Content-Range: bytes 4-4/23 | Cache-Control: max-age=600 : c",
			"/film.mp4 | Range: bytes=9-10": "206 | Content-Range: bytes 9-10/23 | Cache-Control: max-age=600 : nt",
			"/film.mp4 | Range: bytes=20-":  "206 | Content-Range: bytes 20-22/23 | Cache-Control: max-age=600 : mp4",
			"/film.mp4 | Range: bytes=22-":  "206 | Content-Range: bytes 22-22/23 | Cache-Control: max-age=600 : 4",
			"/film.mp4 | Range: bytes=00000000000000000022-": "206 | Content-Range: bytes 22-22/23 | Cache-Control: " +
				revalidate + " : 4",
			"/film.mp4 | Range: bytes=4-99999999999999": "206 | Content-Range: bytes 4-22/23 | Cache-Control: max-age=600 : " +
				"content of film.mp4",
			"/film.mp4 | Range: bytes=-3":                   "206 | Content-Range: bytes 20-22/23 | Cache-Control: max-age=600 : mp4",
			"/film.mp4 | Range: bytes=0-0,4-5":              "206 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=23-":                  "416 | Content-Range: bytes */23 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=23-24":                "416 | Content-Range: bytes */23 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=30-":                  "416 | Content-Range: bytes */23 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=100-":                 "416 | Content-Range: bytes */23 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=1000-2":               "416 | Content-Range: bytes */23 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=4-3":                  "416 | Content-Range: bytes */23 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=10-9":                 "416 | Content-Range: bytes */23 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=10-009":               "416 | Content-Range: bytes */23 | Cache-Control: " + revalidate,
			"/film.mp4 | Range: bytes=9999999999999999999-": "416 | Cache-Control: " + revalidate,
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
			"POST /api/data.json | Origin: https://a.example | Access-Control-Request-Method: GET": "405 | Allow: GET, " +
				"HEAD",
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
	"caching headers": {
		kept: []string{"assets/old.3f2a91bc.js", "lib/old.3f2a91bc.js"},
		serving: v1beta1.WebsiteServing{
			Headers: []v1beta1.ResponseHeader{
				{Path: "/assets/*", Name: "cache-control", Value: immutable},
				{Path: "/index.html", Name: "Cache-Control", Value: "no-cache"},
				{Path: "/page.html", Name: "Cache-Control", Value: "max-age=60"},
				{Path: "/assets/app.js", Name: "CDN-Cache-Control", Value: "max-age=5"},
			},
			Redirects: []v1beta1.Redirect{{From: "/assets/latest.js", To: "/assets/app.js", StatusCode: 302}},
		},
		files: []string{
			"index.html", "page.html", "other.html", "assets/deep/index.html", "assets/app.js",
		},
		want: map[string]string{
			"/":                 "200 | Cache-Control: no-cache",
			"/index.html":       "200 | Cache-Control: no-cache",
			"/page":             "200 | Cache-Control: max-age=60",
			"/page.html":        "200 | Cache-Control: max-age=60",
			"/other":            "200 | Cache-Control: " + revalidate,
			"/assets/deep/":     "200 | Cache-Control: public, max-age=31536000, immutable",
			"/assets/deep":      "301 | ETag: | Cache-Control: " + revalidate,
			"/assets":           "301 | Cache-Control: " + revalidate,
			"/assets/latest.js": "302 | ETag: | Cache-Control: " + revalidate,
			"/assets/app.js": "200 | CDN-Cache-Control: max-age=5 | Cache-Control: public, " +
				"max-age=31536000, immutable",
			"/assets/app.js?v=2":                      "200 | Cache-Control: public, max-age=31536000, immutable",
			"/%61ssets/app.js":                        "200 | Cache-Control: public, max-age=31536000, immutable",
			"HEAD /assets/app.js":                     "200 | Cache-Control: public, max-age=31536000, immutable",
			"/assets/app.js | If-None-Match: *":       "304 | Cache-Control: | CDN-Cache-Control:",
			"/assets/app.js | If-Match: \"another\"":  "412 | CDN-Cache-Control: | Cache-Control: " + revalidate,
			"POST /assets/app.js":                     "405 | CDN-Cache-Control: | Cache-Control: " + revalidate,
			"/assets/missing.js":                      "404 | CDN-Cache-Control: | Cache-Control: " + revalidate,
			"/assets/old.3f2a91bc.js":                 "200 | Cache-Control: public, max-age=31536000, immutable",
			"/lib/old.3f2a91bc.js":                    "200 | Cache-Control: public, max-age=31536000, immutable",
			"/lib/old.3f2a91bc.js | Range: bytes=0-2": "206 | Cache-Control: public, max-age=31536000, immutable",
			"/lib/old.3f2a91bc.js | Range: bytes=3-4": "206 | Cache-Control: public, max-age=31536000, immutable",
			"/lib/old.3f2a91bc.js | Range: bytes=99-": "416 | Cache-Control: " + revalidate,
			"/assetsX/app.js":                         "404 | Cache-Control: " + revalidate,
		},
	},
	"a protected site with the password": {
		protected: true,
		serving: v1beta1.WebsiteServing{
			Headers: []v1beta1.ResponseHeader{
				{Path: "/page.html", Name: "Cache-Control", Value: "public, s-maxage=9, max-age=60"},
			},
			Redirects: []v1beta1.Redirect{{From: "/old", To: "/page", StatusCode: 301}},
		},
		files: []string{
			"index.html", "404.html", "page.html", "sub/index.html",
		},
		want: map[string]string{
			"/" + passwordOfReader: "200 | Cache-Control: private, max-age=0, must-revalidate" +
				" : the content of index.html",
			"/page" + passwordOfReader: "200 | Cache-Control: private, max-age=60",
			"/missing" + passwordOfReader: "404 | Cache-Control: private, max-age=0, must-revalidate" +
				" : the content of 404.html",
			"/old" + passwordOfReader:                     "301 | Location: /page",
			"/sub" + passwordOfReader:                     "301 | Location: /sub/",
			"/.git" + passwordOfReader:                    "404",
			"/page | Range: bytes=0-2" + passwordOfReader: "206 | Cache-Control: private, max-age=60 : the",
			"/page | If-None-Match: *" + passwordOfReader: "304",
			"POST /" + passwordOfReader:                   "405 | Allow: GET, HEAD",
		},
	},
}
