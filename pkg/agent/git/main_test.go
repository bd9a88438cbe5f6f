package git

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// seen are the phrases that remotes of these tests have produced.
var seen sync.Map

func TestMain(m *testing.M) {
	matched = func(p phrase) { seen.Store(p, true) }
	// As the agent, so that no process of a test stays in the process table.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	code := m.Run()
	isWhole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	for _, known := range slices.Concat(localPhrases, phrases) {
		if _, found := seen.Load(known); !found && elsewhere[known.text] == "" && isWhole && code == 0 {
			fmt.Printf("no test has printed %q\n", known.text)
			code = 1
		}
	}
	os.Exit(code)
}

// elsewhere says where phrases are printed that these tests do not need to see.
var elsewhere = map[string]string{
	"disk quota exceeded":                     "file systems with quotas",
	"cannot allocate memory":                  "a fork without memory",
	"problem with the ssl ca cert":            "libcurl with GnuTLS",
	"server certificate verification failed":  "libcurl with GnuTLS",
	"error setting certificate":               "libcurl with OpenSSL",
	"certificate problem":                     "libcurl with OpenSSL",
	"\" disabled":                             "libcurl 8.6 and later",
	"\" not supported or disabled in libcurl": "libcurl before 8.6",
	"timeout, server":                         "ssh after 30 seconds",
	"connection closed by":                    "ssh, or the other one",
	"connection reset by":                     "ssh, or the other one",
	"failure writing output to destination":   "libcurl, if git ends before all of a pack has come",
	"curl_result = 23,":                       "a pack of a dumb server, unless the directory is measured before",
	// Without ssh these tests are skipped.
	"host key verification failed":           "ssh",
	"permission denied (":                    "ssh",
	"does not appear to be a git repository": "ssh",
	"connect to host":                        "ssh",
	"could not read from remote repository":  "ssh",
	"early eof":                              "ssh",
}
