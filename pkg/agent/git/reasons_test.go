package git

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestClassify ignores text of the user and the server.
func TestClassify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		printed string
		want    Reason
	}{
		"words in the address": {"fatal: something about 'https://example.com/ssl-certificate-docs operation too " +
			"slow.git/'", ReasonUnknown},
		"server without space": {"remote: fatal: write error: No space left on device\nfatal: the remote end hung up " +
			"unexpectedly", ReasonUnreachable},
		"server out of memory": {"remote: fatal: Out of memory, malloc failed\nfatal: early EOF", ReasonUnreachable},
		"both out of memory": {"remote: warning: suboptimal pack - out of memory\nfatal: Out of memory, malloc failed",
			ReasonMemory},
		"quota":                   {"fatal: write error: Disk quota exceeded", ReasonStorageFull},
		"no memory for a process": {"error: cannot fork() for index-pack: Cannot allocate memory", ReasonMemory},
		"ssh says nothing":        {"Timeout, server example.com not responding.\nfatal: early EOF", ReasonTimedOut},
		"later libcurl": {`fatal: unable to access 'https://x/': Protocol "http" disabled in redirect`,
			ReasonDowngrade},
		"earlier libcurl": {`fatal: unable to access 'https://x/': Protocol "http" not supported or disabled ` +
			`in libcurl`, ReasonDowngrade},
		"GnuTLS": {"fatal: unable to access 'https://x/': server certificate verification failed. CAfile: " +
			"none CRLfile: none", ReasonCertificate},
		"OpenSSL": {"fatal: unable to access 'https://x/': SSL certificate problem: self-signed certificate",
			ReasonCertificate},
		"something new": {"fatal: the moon is full", ReasonUnknown},
	} {
		if got := classify(test.printed); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestPublicText: the text of an error has no addresses, and is short.
func TestPublicText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("remote: é\n", 200)
	for _, test := range []struct{ printed, want string }{
		{"remote: no\x1b[31m\r\nfatal: unable to access 'https://user:secret@example.com/x.git/': error: 500",
			"remote: no; [31m; fatal: unable to access 'ADDRESS': error: 500"},
		{"fatal: unable to access 'https://git.corp.internal/x.git/': Could not resolve host: git.corp.internal",
			"fatal: unable to access 'ADDRESS': Could not resolve host: ADDRESS"},
		{"Could not resolve proxy: proxy.corp.internal", "Could not resolve proxy: ADDRESS"},
		{"Failed to connect to git port 443 after 3 ms: Could not connect to server",
			"Failed to connect to ADDRESS port 443 after 3 ms: Could not connect to server"},
		{"ssh: connect to host git.corp.internal port 22: Connection refused",
			"ssh: connect to host ADDRESS port 22: Connection refused"},
		{"Connection closed by 10.1.2.3 port 22", "Connection closed by ADDRESS port 22"},
		{"Connection reset by fd00::1 port 22", "Connection reset by ADDRESS port 22"},
		{"No ED25519 host key is known for git.corp.internal and you have requested strict checking.",
			"No ED25519 host key is known for ADDRESS and you have requested strict checking."},
		{"certificate subject name () does not match target host name 'git.corp.internal'",
			"certificate subject name () does not match target host name 'ADDRESS'"},
		{"git@example.com: Permission denied (publickey).", "ADDRESS Permission denied (publickey)."},
		{"fatal: '\xff' not found", "fatal: '?' not found"},
		{long, strings.TrimSuffix(strings.Repeat("remote: é; ", 200), "; ")},
	} {
		if got := publicText(test.printed); len(got) > maxText || !strings.HasSuffix(test.want, got) ||
			len(got) < min(len(test.want), maxText-2) {
			t.Errorf("of %q is shown %q, want %q, or its end", test.printed, got, test.want)
		}
	}
}

// TestMessages: each reason has a message, and errors stay typed when they are wrapped.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, known := range append(append([]phrase{}, localPhrases...), phrases...) {
		if messages[known.reason] == "" {
			t.Errorf("%s has no message", known.reason)
		}
	}
	err := fmt.Errorf("syncing: %w", submoduleFailure("a", submoduleFailure("b", failure(ReasonAuthentication, "no"))))
	var typed *Error
	if !errors.As(err, &typed) || typed.Reason != ReasonSubmodule || typed.Submodule != "a/b" ||
		typed.Cause != ReasonAuthentication {
		t.Errorf("%+v", typed)
	}
	if want := "a submodule cannot be fetched: correct .gitmodules, or set spec.source.git.submodules to None: a/b: the " +
		"server refuses the credentials"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}
