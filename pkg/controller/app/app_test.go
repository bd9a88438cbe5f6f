package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/version"
)

func TestHelpHasSections(t *testing.T) {
	cmd, err := NewCommand()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Controller flags:", "Leader election flags:", "Secure serving flags:", "Authentication flags:",
		"Authorization flags:", "Logs flags:", "Feature gates flags:", "Global flags:",
		"Tracing flags:", "--tracing-config-file", "--watch-namespace",
		"--min-resync-period", "--concurrent-website-syncs", "--nginx-image", "--logging-format",
		"--feature-gates", "--version",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--help lacks %q", want)
		}
	}
}

func TestVersion(t *testing.T) {
	cmd, err := NewCommand()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--version"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), version.String()) {
		t.Errorf("--version says %q", out.String())
	}
}

func TestNoArguments(t *testing.T) {
	cmd, err := NewCommand()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SetOut(&bytes.Buffer{})
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs([]string{"something"})
	if err := cmd.ExecuteContext(t.Context()); err == nil {
		t.Error("an argument was accepted")
	}
}

func TestClientConfig(t *testing.T) {
	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	o.Kubeconfig = writeKubeconfig(t, "https://127.0.0.1:1")
	config, err := clientConfig(o.Complete())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(config.UserAgent, "website-controller/") {
		t.Errorf("user agent %q", config.UserAgent)
	}
	if config.QPS >= 0 {
		t.Errorf("requests are limited to %v per second", config.QPS)
	}
	if kube := protobuf(separate(config)); kube.ContentType != "application/vnd.kubernetes.protobuf" ||
		config.ContentType != "" {
		t.Errorf("content types: %q for Kubernetes, %q for Websites", kube.ContentType, config.ContentType)
	}

	o.Kubeconfig = "missing"
	if _, err := clientConfig(o.Complete()); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("error %v", err)
	}
}
