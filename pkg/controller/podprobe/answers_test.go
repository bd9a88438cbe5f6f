package podprobe

import "testing"

func TestParseCommit(t *testing.T) {
	for name, test := range map[string]struct {
		code    int
		body    string
		want    string
		wantErr bool
	}{
		"a commit":                  {200, commitA + "\n", commitA, false},
		"of SHA-256":                {200, commitB + "\n", commitB, false},
		"none yet":                  {503, "no commit\n", "", false},
		"a proxy that is not well":  {503, "upstream connect error", "", true},
		"a proxy without a backend": {502, "", "", true},
		"another server":            {200, "<html>hello</html>", "", true},
		"a redirect":                {302, "", "", true},
		"an abbreviated hash":       {200, "abcdef\n", "", true},
	} {
		got, err := parseCommit(test.code, []byte(test.body))
		if got != test.want || (err != nil) != test.wantErr {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
