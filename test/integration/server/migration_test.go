package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver/storagemigration"
	"github.com/kubesites/website-apiserver/test/framework"
)

// migrate runs "website-apiserver migrate-storage" and returns its output.
func migrate(t *testing.T, s *framework.Server, args ...string) (stdout, stderr string) {
	t.Helper()
	args = append([]string{"migrate-storage", "--kubeconfig=" + framework.WriteKubeconfig(t, s.Config(t))}, args...)
	cmd := exec.CommandContext(t.Context(), framework.Cluster.Process("website-apiserver").Args()[0], args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out.String(), log.String())
	}
	return out.String(), log.String()
}

// storedVersions counts stored Websites by version and encoding.
func storedVersions(t *testing.T, s *framework.Server) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for key, value := range s.Store.Values(t) {
		encoding := "JSON"
		if strings.HasPrefix(value, "k8s\x00") {
			encoding = "protobuf"
		}
		found := false
		for _, version := range []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1beta1.SchemeGroupVersion} {
			// The managed fields may name another version further back.
			if strings.Contains(value[:min(len(value), 80)], version.String()) {
				counts[version.Version+" "+encoding]++
				found = true
			}
		}
		if !found {
			t.Errorf("%s is stored as %q", key, value[:min(len(value), 80)])
		}
	}
	return counts
}

// interrupting ends a context with the n-th patch.
type interrupting struct {
	http.RoundTripper
	patches atomic.Int32
	n       int32
	end     context.CancelFunc
}

func (i *interrupting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && i.patches.Add(1) == i.n {
		i.end()
	}
	return i.RoundTripper.RoundTrip(r)
}

// TestMigrateStorage migrates Websites stored when v1alpha1 was the only version, with an
// interruption halfway.
func TestMigrateStorage(t *testing.T) {
	t.Parallel()
	s := framework.NewServer(t)
	namespaces := []string{framework.NewNamespace(t), framework.NewNamespace(t)}
	var old []*v1alpha1.Website
	for i := range 40 {
		w := framework.NewV1alpha1(namespaces[i%2], fmt.Sprintf("w%d", i), framework.V1alpha1Replicas(int32(i%3)))
		w.UID, w.Generation, w.CreationTimestamp = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)), 3,
			metav1.Now().Rfc3339Copy()
		w.Status.AvailableReplicas = int32(i % 3)
		old = append(old, w)
	}
	framework.StoreAsV1alpha1(t, s, old)
	if got := storedVersions(t, s); got["v1alpha1 JSON"] != 20 || got["v1alpha1 protobuf"] != 20 {
		t.Fatalf("stored = %v, want 20 each of v1alpha1 as JSON and protobuf", got)
	}

	// All Websites are read before the migration.
	client := framework.NewClients(t, s.Config(t)).Websites
	list, err := client.WebsiteV1beta1().Websites("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != len(old) {
		t.Fatalf("listing Websites stored as v1alpha1: %d Websites, %v", len(list.Items), err)
	}

	ctx, interrupt := context.WithCancel(t.Context())
	config := s.Config(t)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return &interrupting{RoundTripper: rt, n: 18, end: interrupt}
	})
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	first := storagemigration.Migration{Client: metadataClient,
		Resource: v1beta1.SchemeGroupVersion.WithResource("websites"), ChunkSize: 5}
	if counts, err := first.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted run: %+v, %v", counts, err)
	}
	// The response to the interrupted patch did not arrive; the patch may have been
	// applied nevertheless.
	if got := storedVersions(t, s); got["v1beta1 protobuf"] < 17 || got["v1beta1 protobuf"] > 18 {
		t.Fatalf("stored after an interruption = %v, want 17 or 18 migrated", got)
	}

	stdout, stderr := migrate(t, s, "--chunk-size=5")
	if !strings.HasPrefix(stdout, "40 Websites: ") || !strings.Contains(stdout, "0 failed") {
		t.Errorf("the second run says %q, want 40 Websites and none failed", stdout)
	}
	for _, want := range []string{"done=20 total=40", "done=40 total=40"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the second run's log lacks %q:\n%s", want, stderr)
		}
	}
	if got := storedVersions(t, s); len(got) != 1 || got["v1beta1 protobuf"] != len(old) {
		t.Errorf("stored after the migration = %v, want %d as v1beta1 protobuf only", got, len(old))
	}
	for _, w := range old {
		got, err := client.WebsiteV1alpha1().Websites(w.Namespace).Get(t.Context(), w.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got.TypeMeta, got.ResourceVersion = w.TypeMeta, ""
		if !apiequality.Semantic.DeepEqual(got, w) {
			t.Errorf("after the migration: %+v, want %+v", got, w)
		}
	}

	if stdout, _ := migrate(t, s); stdout != "40 Websites: 0 rewritten, 40 current before, 0 changed by others "+
		"meanwhile, 0 failed\n" {
		t.Errorf("a run over migrated Websites says %q", stdout)
	}
}
