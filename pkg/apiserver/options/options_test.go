package options

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
	baseversion "k8s.io/component-base/version"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// parse returns the completed options for a command line.
func parse(t testing.TB, args ...string) (CompletedOptions, error) {
	t.Helper()
	o, err := NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("website-apiserver", pflag.ContinueOnError)
	sections := o.Flags()
	for _, section := range sections.FlagSets {
		flags.AddFlagSet(section)
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o.Complete()
}

func TestFeatureDefaults(t *testing.T) {
	if _, err := parse(t); err != nil {
		t.Fatal(err)
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.EtcdRangeStream) {
		t.Error("lists are streamed from etcd")
	}
}

func TestEtcdIsEmbeddedUnlessServersAreGiven(t *testing.T) {
	dataDir, err := os.MkdirTemp("", "data")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dataDir)
	tests := map[string]struct {
		args         []string
		wantEmbedded bool
		wantServer   string
	}{
		"by default": {args: []string{"--data-dir=" + dataDir}, wantEmbedded: true,
			wantServer: "unix://" + dataDir + "/etcd/etcd.sock"},
		"external": {args: []string{"--etcd-servers=https://etcd-0:2379"}, wantServer: "https://etcd-0:2379"},
		"external first": {args: []string{"--etcd-servers=https://etcd-0:2379", "--data-dir=" + dataDir},
			wantServer: "https://etcd-0:2379"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := parse(t, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			if o.EmbeddedEtcd() != test.wantEmbedded {
				t.Errorf("embedded = %t, want %t", o.EmbeddedEtcd(), test.wantEmbedded)
			}
			if got := o.Recommended.Etcd.StorageConfig.Transport.ServerList; len(got) != 1 || got[0] != test.wantServer {
				t.Errorf("etcd servers = %v, want %s", got, test.wantServer)
			}
		})
	}
}

func TestBadFlags(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"data directory too deep": {args: []string{"--data-dir=/" + strings.Repeat("a", 200)},
			want: "--data-dir: the socket of the embedded etcd would be"},
		"another store": {
			args: []string{"--etcd-servers-overrides=mycontroller.nevermosby.io/websites#http://127.0.0.1:2379"},
			want: "--etcd-servers-overrides: all resources",
		},
		"port out of range": {args: []string{"--secure-port=70000"}, want: "--secure-port 70000 must be between"},
		"impossible goaway": {args: []string{"--goaway-chance=1"},
			want: "--goaway-chance can not be less than 0 or greater than 0.02"},
		"unknown media type": {args: []string{"--storage-media-type=text/html"},
			want: `--storage-media-type "text/html" invalid`},
		"reload without a config": {args: []string{"--encryption-provider-config-automatic-reload"},
			want: "must be set with --encryption-provider-config"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := parse(t, test.args...)
			if err == nil {
				err = o.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestStorageCodec(t *testing.T) {
	tests := map[string]struct {
		args       []string
		wantPrefix string
	}{
		"protobuf by default": {wantPrefix: "k8s\x00"},
		"JSON on request": {args: []string{"--storage-media-type=application/json"},
			wantPrefix: `{"kind":"Website","apiVersion":"mycontroller.nevermosby.io/v1beta1"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := parse(t, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.applyStorageCodec(); err != nil {
				t.Fatal(err)
			}
			data, err := runtime.Encode(o.Recommended.Etcd.StorageConfig.Codec, &v1beta1.Website{})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(data), test.wantPrefix) {
				t.Errorf("stored as %q, want it to begin with %q", data, test.wantPrefix)
			}
		})
	}
}

// TestEffectiveVersionIsThatOfTheLibraries prevents emulating an old
// Kubernetes: feature gates and CEL would silently lose later additions.
func TestEffectiveVersionIsThatOfTheLibraries(t *testing.T) {
	o, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	effective := o.ServerRun.ComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	if effective == nil {
		t.Fatal("no effective version is registered")
	}
	if got := effective.EmulationVersion().String(); got != baseversion.DefaultKubeBinaryVersion {
		t.Errorf("emulated version = %s, want %s", got, baseversion.DefaultKubeBinaryVersion)
	}
}
