package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/version"
)

// output returns the output of the command.
func output(t *testing.T, args ...string) string {
	t.Helper()
	cmd, err := NewCommand()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestHelpHasSections(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"the server": {
			args: []string{"--help"},
			want: []string{
				"Generic flags:", "Etcd flags:", "Secure serving flags:", "Registration flags:", "Authentication flags:",
				"Authorization flags:", "Auditing flags:",
				"Core API flags:", "Admission flags:", "Traces flags:", "Logs flags:", "Global flags:", "--data-dir",
				"--kubeconfig", "--version",
			},
		},
		"store check": {args: []string{"store", "check", "--help"},
			want: []string{"Etcd flags:", "Core API flags:", "Logs flags:", "Global flags:", "--data-dir"}},
		"store snapshot": {args: []string{"store", "snapshot", "--help"},
			want: []string{"Etcd flags:", "Snapshot flags:", "--data-dir", "--keep"}},
		"store restore": {args: []string{"store", "restore", "--help"},
			want: []string{"Etcd flags:", "Restore flags:", "--data-dir", "--bump-revision"}},
		"store accept": {args: []string{"store", "accept", "--help"},
			want: []string{"Etcd flags:", "Accept flags:", "--with-incomplete-import"}},
		"store export": {args: []string{"store", "export", "--help"},
			want: []string{"Etcd flags:", "--encryption-provider-config"}},
		"store import": {args: []string{"store", "import", "--help"},
			want: []string{"Import flags:", "--encryption-provider-config", "--keep-invalid"}},
		"migrate-storage": {args: []string{"migrate-storage", "--help"},
			want: []string{"Migration flags:", "Logs flags:", "Global flags:", "--chunk-size"}},
		"check": {args: []string{"check", "--help"}, want: []string{"Check flags:", "--timeout", "--kubeconfig"}},
		"certificates": {args: []string{"etcd-certificates", "--help"}, want: []string{"Certificates flags:", "--lifetime",
			"--ca-lifetime", "--members", "--metrics-address", "Logs flags:"}},
		"uninstall": {args: []string{"uninstall", "--help"},
			want: []string{"Uninstall flags:", "--service", "--kubeconfig"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			help := output(t, test.args...)
			for _, want := range test.want {
				if !strings.Contains(help, want) {
					t.Errorf("--help lacks %q", want)
				}
			}
		})
	}
}

func TestVersion(t *testing.T) {
	if got := output(t, "--version"); !strings.Contains(got, version.String()) {
		t.Errorf("--version says %q", got)
	}
}
