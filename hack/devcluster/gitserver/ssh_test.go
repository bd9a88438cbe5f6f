package gitserver

import "testing"

func TestCommandsOverSSH(t *testing.T) {
	for command, want := range map[string]string{
		"git-upload-pack '/site.git'":         "site",
		"git-upload-pack '/private/site.git'": "private/site",
		"git-upload-pack '/../site.git'":      "",
		"git-upload-pack '/other/site.git'":   "",
		"git-upload-pack '/.git'":             "",
		"git-upload-pack 'site.git'":          "",
		"git-upload-pack '/site.git'; id":     "",
		"git-receive-pack '/site.git'":        "",
		"sh":                                  "",
		"":                                    "",
	} {
		name, found := repositoryOf(command)
		if found != (want != "") || found && name != want {
			t.Errorf("%s is for %q, %t, want %q", command, name, found, want)
		}
	}
}
