package app

import (
	"bytes"
	"strings"
	"testing"
)

func TestAdoptCommand(t *testing.T) {
	kubeconfig := writeKubeconfig(t, "https://127.0.0.1:1")
	for name, test := range map[string]struct {
		args       []string
		wantOutput string
		wantError  string
	}{
		"help of the group":   {[]string{"adopt"}, "plan        Print the children that run would adopt", ""},
		"help of a command":   {[]string{"adopt", "run", "--help"}, "--all-namespaces", ""},
		"unknown command":     {[]string{"adopt", "something"}, "", "unknown command"},
		"no kubeconfig file":  {[]string{"adopt", "plan", "--kubeconfig=missing"}, "", "--kubeconfig"},
		"two namespaces":      {[]string{"adopt", "plan", "-A", "--namespace=default"}, "", "all-namespaces"},
		"server unreachable":  {[]string{"adopt", "plan", "--kubeconfig=" + kubeconfig}, "", "listing Websites: "},
		"flag of the process": {[]string{"adopt", "plan", "--nginx-image=x"}, "", "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, err := NewCommand()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&bytes.Buffer{})
			cmd.SetArgs(test.args)
			err = cmd.ExecuteContext(t.Context())
			if (err == nil) != (test.wantError == "") || err != nil && !strings.Contains(err.Error(), test.wantError) {
				t.Errorf("error %v, want %q", err, test.wantError)
			}
			if !strings.Contains(out.String(), test.wantOutput) || strings.Contains(out.String(), "--nginx-image") {
				t.Errorf("printed\n%s, want %q and no flags of the controller", &out, test.wantOutput)
			}
		})
	}
}
