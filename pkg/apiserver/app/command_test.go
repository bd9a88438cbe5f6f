package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/version"
)

// output returns what the command prints.
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
				"Generic flags:", "Etcd flags:", "Secure serving flags:", "Authentication flags:", "Authorization flags:", "Auditing flags:",
				"Core API flags:", "Admission flags:", "Traces flags:", "Logs flags:", "Global flags:", "--data-dir", "--kubeconfig", "--version",
			},
		},
		"store check":     {args: []string{"store", "check", "--help"}, want: []string{"Etcd flags:", "Core API flags:", "Logs flags:", "Global flags:", "--data-dir"}},
		"migrate-storage": {args: []string{"migrate-storage", "--help"}, want: []string{"Migration flags:", "Logs flags:", "Global flags:", "--chunk-size"}},
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
