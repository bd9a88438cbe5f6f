package gitsync

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	const advice = "\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists."
	for name, test := range map[string]struct {
		repository, how, stderr string
		want                    Reason
	}{
		"no such repository":               {stderr: "fatal: repository 'https://example.com/ssl-docs.git/' not found", want: ReasonNotFound},
		"no such path":                     {stderr: "fatal: '/srv/site.git' does not appear to be a git repository\nfatal: Could not read from remote repository.", want: ReasonNotFound},
		"no such branch":                   {stderr: "fatal: couldn't find remote ref refs/heads/ssl", want: ReasonRefNotFound},
		"password":                         {stderr: "fatal: Authentication failed for 'https://example.com/timed-out.git/'", want: ReasonAuthentication},
		"no password":                      {stderr: "fatal: could not read Username for 'https://example.com': terminal prompts disabled", want: ReasonAuthentication},
		"key":                              {stderr: "git@example.com: Permission denied (publickey).\r\nfatal: Could not read from remote repository.", want: ReasonAuthentication},
		"forbidden":                        {stderr: "fatal: unable to access 'https://example.com/x.git/': The requested URL returned error: 403", want: ReasonAuthentication},
		"host key":                         {stderr: "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", want: ReasonHostKey},
		"refused":                          {stderr: "fatal: unable to access 'http://127.0.0.1:9/x.git/': Failed to connect to 127.0.0.1 port 9: Connection refused", want: ReasonUnreachable},
		"no name":                          {stderr: "fatal: unable to access 'https://x.invalid/': Could not resolve host: x.invalid", want: ReasonUnreachable},
		"no way":                           {stderr: "ssh: connect to host example.com port 22: Connection timed out\nfatal: Could not read from remote repository.", want: ReasonUnreachable},
		"certificate":                      {stderr: "fatal: unable to access 'https://example.com/': SSL certificate problem: self-signed certificate", want: ReasonUnreachable},
		"server error":                     {stderr: "fatal: unable to access 'https://example.com/': The requested URL returned error: 503", want: ReasonUnreachable},
		"slow":                             {stderr: "error: RPC failed; curl 28 Operation too slow. Less than 1 bytes/sec transferred the last 30 seconds\nfatal: early EOF", want: ReasonTimedOut},
		"ssh says nothing":                 {stderr: "Timeout, server example.com not responding.\nfatal: early EOF", want: ReasonTimedOut},
		"over its time":                    {how: "context deadline exceeded", want: ReasonTimedOut},
		"over its time, within a transfer": {how: "context deadline exceeded", stderr: "POST git-upload-pack (305 bytes)\nPOST git-upload-pack (179 bytes)\nfatal: early EOF", want: ReasonTimedOut},
		"killed":                           {how: "signal: killed", want: ReasonMemory},
		"out of memory":                    {stderr: "fatal: Out of memory, malloc failed (tried to allocate 314572801 bytes)", want: ReasonMemory},
		"no memory for a process":          {stderr: "error: cannot fork() for index-pack: Cannot allocate memory", want: ReasonMemory},
		"server out of memory":             {stderr: "remote: fatal: Out of memory, malloc failed (tried to allocate 314572801 bytes)\nremote: aborting due to possible repository corruption on the remote side.\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output", want: ReasonUnreachable},
		"server without space":             {stderr: "remote: fatal: write error: No space left on device\nfatal: the remote end hung up unexpectedly", want: ReasonUnreachable},
		"both out of memory":               {stderr: "remote: warning: suboptimal pack - out of memory\nfatal: Out of memory, malloc failed (tried to allocate 314572801 bytes)", want: ReasonMemory},
		"disk":                             {stderr: "error: unable to write file index.html\nfatal: write error: No space left on device", want: ReasonStorageFull},
		"object format":                    {stderr: "fatal: mismatched algorithms: client sha1; server sha256", want: ReasonObjectFormat},
		"commit refused":                   {stderr: "error: Server does not allow request for unadvertised object 0123", want: ReasonCommitRefused},
		"commit unknown":                   {stderr: "fatal: remote error: upload-pack: not our ref 0123", want: ReasonCommitRefused},
		"submodule":                        {stderr: "fatal: No url found for submodule path 'x' in .gitmodules", want: ReasonSubmodule},
		"submodule's host":                 {stderr: "fatal: clone of 'https://x.invalid/m.git' into submodule path '/git/m' failed", want: ReasonSubmodule},
		"submodule, as printed": {stderr: "Submodule 'sub' (https://example.com/sub) registered for path 'sub'\nCloning into '/git/root/.worktrees/f7c9/sub'...\n" +
			"fatal: '/srv/sub' does not appear to be a git repository" + advice + "\nfatal: clone of 'https://example.com/sub' into submodule path " +
			"'/git/root/.worktrees/f7c9/sub' failed\nFailed to clone 'sub' a second time, aborting", want: ReasonSubmodule},
		"host key, as printed": {stderr: "@@@@@@@@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n@@@@@@@@@@\r\n" +
			"Host key for [127.0.0.1]:2222 has changed and you have requested strict checking.\r\nHost key verification failed.\r" + advice, want: ReasonHostKey},
		"refused, by ssh":       {stderr: "ssh: connect to host 127.0.0.1 port 9: Connection refused\r" + advice, want: ReasonUnreachable},
		"empty repository":      {stderr: "fatal: couldn't find remote ref HEAD", want: ReasonRefNotFound},
		"something new":         {stderr: "fatal: the moon is full", want: ReasonUnknown},
		"words in the address":  {repository: "https://example.com/ssl-timed-out-repository not found.git", stderr: "fatal: the moon is full", want: ReasonUnknown},
		"an address in quotes":  {stderr: "fatal: something about 'https://example.com/ssl-certificate-docs.git/'", want: ReasonUnknown},
		"braces in the address": {repository: `https://example.com/{ stderr: "authentication failed" }`, stderr: "fatal: the moon is full", want: ReasonUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			if test.how == "" {
				test.how = "exit status 128"
			}
			text := fmt.Sprintf("Run(git fetch %s HEAD --verbose): %s: { stdout: %q, stderr: %q }", test.repository, test.how, "", test.stderr)
			if got := Classify(text); got != test.want {
				t.Errorf("Classify(%q) = %q, want %q", text, got, test.want)
			}
		})
	}
	for text, want := range map[string]Reason{
		"credential refresh failed: can't read password file": ReasonUnknown,
		"error creating symlink: no space left on device":     ReasonStorageFull,
		"": ReasonUnknown,
	} {
		if got := Classify(text); got != want {
			t.Errorf("Classify(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestReadErrorFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "error.json")
	if got, err := ReadErrorFile(path); err != nil || got != (SyncError{}) {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	data, err := json.Marshal(map[string]any{"Msg": "error syncing repo, will retry", "Args": map[string]any{"failCount": 1},
		"Err": `Run(git fetch x): exit status 128: { stdout: "", stderr: "fatal: couldn't find remote ref HEAD" }`})
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]Reason{string(data): ReasonRefNotFound, "invalid flag: --period": ReasonUnknown, "{": ReasonUnknown} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadErrorFile(path); err != nil || got.Reason != want || got.At.IsZero() {
			t.Errorf("with %q: %+v, %v, want %q", content, got, err, want)
		}
	}
	// What git-sync finds before a sync is not why that fails.
	if err := os.WriteFile(path, []byte(`{"Msg":"repo contains lock file","Err":"","Args":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadErrorFile(path); !errors.Is(err, ErrRemark) {
		t.Errorf("of a remark: %+v, %v", got, err)
	}
	if got, err := ReadErrorFile(t.TempDir()); err == nil || got.Reason != ReasonUnknown {
		t.Errorf("of a directory: %+v, %v", got, err)
	}
}

// TestPublicText: what is shown of an error has no addresses, and is short.
func TestPublicText(t *testing.T) {
	long := strings.Repeat("remote: é\n", 200)
	for stderr, want := range map[string]string{
		"fatal: couldn't find remote ref HEAD": "fatal: couldn't find remote ref HEAD",
		"remote: no\x1b[31m\r\nfatal: unable to access 'https://user:secret@example.com/x.git/': The requested URL returned error: 500": "remote: no; [31m; " +
			"fatal: unable to access 'ADDRESS': The requested URL returned error: 500",
		"fatal: unable to access 'https://git.corp.internal/x.git/': Could not resolve host: git.corp.internal": "fatal: unable to access 'ADDRESS': Could not resolve host: ADDRESS",
		"fatal: unable to access 'https://git/x/': Could not resolve proxy: proxy.corp.internal":                "fatal: unable to access 'ADDRESS': Could not resolve proxy: ADDRESS",
		"Failed to connect to git port 443 after 3 ms: Could not connect to server":                             "Failed to connect to ADDRESS port 443 after 3 ms: Could not connect to server",
		"Failed to connect to 10.1.2.3 port 443 after 3 ms":                                                     "Failed to connect to ADDRESS port 443 after 3 ms",
		"ssh: connect to host git.corp.internal port 22: Connection refused":                                    "ssh: connect to host ADDRESS port 22: Connection refused",
		"ssh: Could not resolve hostname git: Name or service not known":                                        "ssh: Could not resolve hostname ADDRESS: Name or service not known",
		"Connection closed by 10.1.2.3 port 22":                                                                 "Connection closed by ADDRESS port 22",
		"Connection reset by fd00::1 port 22":                                                                   "Connection reset by ADDRESS port 22",
		"kex_exchange_identification: Connection closed by remote host":                                         "kex_exchange_identification: Connection closed by remote host",
		"No ED25519 host key is known for git.corp.internal and you have requested strict checking.":            "No ED25519 host key is known for ADDRESS and you have requested strict checking.",
		"SSL: no alternative certificate subject name matches target host name 'git.corp.internal'":             "SSL: no alternative certificate subject name matches target host name 'ADDRESS'",
		"git@example.com: Permission denied (publickey).":                                                       "ADDRESS Permission denied (publickey).",
		"fatal: '\xff' not found": "fatal: '?' not found",
		long:                      strings.TrimSuffix(strings.Repeat("remote: é; ", 200), "; "),
	} {
		text := fmt.Sprintf("Run(git fetch https://user:secret@example.com/x.git HEAD): exit status 128: { stdout: %q, stderr: %q }", "", stderr)
		got := publicText(text)
		if len(got) > maxText || !strings.HasSuffix(want, got) || len(got) < min(len(want), maxText-2) {
			t.Errorf("of %q is shown %q, want %q, or its end", stderr, got, want)
		}
	}
}
