package urlpaths

import (
	"net/url"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Pattern{
		"/":                            {Path: "/"},
		"/*":                           {Path: "/", Prefix: true},
		"/blog/*":                      {Path: "/blog/", Prefix: true},
		"/größe":                       {Path: "/größe"},
		"/gr%C3%B6%c3%9fe":             {Path: "/größe"},
		"/a b":                         {Path: "/a b"},
		"/a%20b":                       {Path: "/a b"},
		"/日本/*":                        {Path: "/日本/", Prefix: true},
		"/it's;fine{}":                 {Path: "/it's;fine{}"},
		"/a+b":                         {Path: "/a+b"},
		"/100%25":                      {Path: "/100%"},
		"/what%3F%23":                  {Path: "/what?#"},
		"/star/%2A":                    {Path: "/star/*"},
		"/a%2Fb":                       {Path: "/a/b"},
		"/" + strings.Repeat("é", 511): {Path: "/" + strings.Repeat("é", 511)},
		"/%3Ayear":                     {Path: "/:year"},
		"/Talk:Main":                   {Path: "/Talk:Main"},
		"/🎉":                           {Path: "/🎉"},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%q is %+v (%v), want %+v", text, got, err, want)
		}
		if decoded, err := url.PathUnescape(Encode(got.Path)); err != nil || decoded != got.Path {
			t.Errorf("%q is encoded as %q", got.Path, Encode(got.Path))
		}
	}
	for _, text := range []string{
		"", "a", "/a?b", "/a#b", "/%", "/%zz", "/%f", "/%ff", "/\xff", "/%00", "/\n", "/a%0Ab", "/\x7f", "/\u0085",
		"/\u202e", "/$x", "/%24x",
		`/"`, "/%22", `/\`, "/%5C", "//a", "/a%2F/b", "/..", "/%2e%2e/a", "/a/./b", "/assets*", "/*.js", "/a/*/b",
		"/*/*", "/:year",
		"/a/:b/c", "/" + strings.Repeat("é", 512),
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is %+v, want an error", text, got)
		}
	}
}
