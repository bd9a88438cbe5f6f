package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	encryptionconfigcontroller "k8s.io/apiserver/pkg/server/options/encryptionconfig/controller"

	"github.com/kubesites/website-apiserver/pkg/apiserver/app"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
	"github.com/kubesites/website-apiserver/test/framework"
)

// newServerInTest is like newServer, but runs in the process of the tests, where
// variables of the server can be set.
func newServerInTest(t *testing.T, args ...string) *framework.Server {
	t.Helper()
	store, flag := framework.NewStore(t, "apiserver-in-test")
	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("website-apiserver", pflag.ContinueOnError)
	sections := o.Flags()
	for _, section := range sections.FlagSets {
		flags.AddFlagSet(section)
	}
	args = append([]string{flag, "--store-record-namespace=" + framework.NewRecordNamespace(t),
		"--audit-log-path=" + filepath.Join(t.TempDir(), "audit.log")}, args...)
	if err := flags.Parse(append(framework.Cluster.Process("website-apiserver").Args()[1:], args...)); err != nil {
		t.Fatal(err)
	}
	if o.Recommended.SecureServing.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if err := o.ServerRun.ComponentGlobalsRegistry.Set(); err != nil {
		t.Fatal(err)
	}
	completed, err := o.Complete()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, completed) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	s := &framework.Server{URL: "https://" + o.Recommended.SecureServing.Listener.Addr().String(), Store: store}
	framework.WaitFor(t, "the server is ready", func(ctx context.Context) error {
		code, body, err := framework.SecureGet(ctx, t, s.URL+"/readyz", false)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("GET /readyz = %d %s", code, body)
		}
		return err
	})
	framework.AcceptStore(t, args)
	s.WaitOpen(t)
	return s
}

// failedReloads counts files that could not be loaded.
var failedReloads = regexp.MustCompile(
	`(?m)^apiserver_encryption_config_controller_automatic_reloads_total\{.*status="failure".*\} [1-9]`,
)

// TestEncryptionConfigIsReloaded rotates a key without a restart.
func TestEncryptionConfigIsReloaded(t *testing.T) {
	t.Parallel()
	// A program checks the file once a minute. The variable is restored after the server has ended.
	period := encryptionconfigcontroller.EncryptionConfigFileChangePollDuration
	encryptionconfigcontroller.EncryptionConfigFileChangePollDuration = 100 * time.Millisecond
	t.Cleanup(func() { encryptionconfigcontroller.EncryptionConfigFileChangePollDuration = period })
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	config := filepath.Join(t.TempDir(), "encryption.yaml")
	framework.WriteFile(t, config, encryptionConfig())
	s := newServerInTest(t, "--encryption-provider-config="+config, "--encryption-provider-config-automatic-reload")
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1alpha1().Websites(namespace)
	create := func(name string) {
		t.Helper()
		if _, err := websites.Create(ctx, framework.NewV1alpha1(namespace, name, framework.V1alpha1Replicas(0)),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	metrics := func(ctx context.Context) (string, error) {
		_, body, err := framework.SecureGet(ctx, t, s.URL+"/metrics", true)
		return body, err
	}
	use := func(keys ...string) {
		t.Helper()
		framework.WriteFile(t, config, encryptionConfig(keys...))
		hash, err := encryptionconfig.GetEncryptionConfigHash(config)
		if err != nil {
			t.Fatal(err)
		}
		framework.WaitFor(t, "the server has taken up the file", func(ctx context.Context) error {
			body, err := metrics(ctx)
			if err == nil && !strings.Contains(body, fmt.Sprintf("hash=%q", hash)) {
				err = fmt.Errorf("no metric shows the hash %s", hash)
			}
			return err
		})
	}
	stored := func(want map[string]string) {
		t.Helper()
		checkStored(t, s, namespace, want)
	}

	create("a")
	stored(map[string]string{"a": plain})
	use("first")
	create("b")
	stored(map[string]string{"a": plain, "b": first})

	framework.WriteFile(t, config, []byte("kind: EncryptionConfiguration\n"))
	framework.WaitFor(t, "a metric counts a file that cannot be used", func(ctx context.Context) error {
		body, err := metrics(ctx)
		if err == nil && !failedReloads.MatchString(body) {
			err = fmt.Errorf("no metric matches %s", failedReloads)
		}
		return err
	})
	create("c")
	stored(map[string]string{"a": plain, "b": first, "c": first})

	use("second", "first")
	if out, _ := migrate(t, s); !strings.HasPrefix(out, "3 Websites: 3 rewritten") {
		t.Errorf("migration to the second key: %s", out)
	}
	use("second")
	stored(map[string]string{"a": second, "b": second, "c": second})
}
