package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// encryptionConfig encrypts Websites with the first key and decrypts with any. Without keys it only
// reads unencrypted Websites.
func encryptionConfig(keys ...string) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: " +
		"[websites.mycontroller.nevermosby.io]\n  providers:\n")
	if len(keys) > 0 {
		b.WriteString("  - aesgcm:\n      keys:\n")
	}
	for _, key := range keys {
		secret := base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%032s", key)))
		fmt.Fprintf(&b, "      - {name: %s, secret: %s}\n", key, secret)
	}
	b.WriteString("  - identity: {}\n")
	return []byte(b.String())
}

// The stored bytes of a Website begin with one of these, by its encryption.
const plain, first, second = "k8s\x00", "k8s:enc:aesgcm:v1:first:", "k8s:enc:aesgcm:v1:second:"

// checkStored checks the encryption of each stored Website of a server, and that all can be read.
func checkStored(t *testing.T, s *framework.Server, namespace string, want map[string]string) {
	t.Helper()
	ctx := t.Context()
	const secret = "github.com/nevermosby"
	values := s.Store.Values(t)
	if len(values) != len(want) {
		t.Errorf("%d Websites are stored, want %d", len(values), len(want))
	}
	for name, prefix := range want {
		value := values[namespace+"/"+name]
		if !strings.HasPrefix(value, prefix) {
			t.Errorf("%s is stored as %q, want %q", name, value[:min(len(value), 40)], prefix)
		}
		if encrypted := strings.HasPrefix(prefix, "k8s:enc:"); encrypted == strings.Contains(value, secret) {
			t.Errorf("%s: encrypted %t, but its repository can be found in the bytes: %t", name, encrypted, !encrypted)
		}
	}
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1alpha1().Websites(namespace)
	list, err := websites.List(ctx, metav1.ListOptions{ResourceVersion: ""})
	if err != nil || len(list.Items) != len(want) {
		t.Errorf("listing %d Websites: %d, %v", len(want), len(list.Items), err)
	}
	for _, w := range list.Items {
		if got, err := websites.Get(ctx, w.Name, metav1.GetOptions{}); err != nil ||
			!strings.Contains(got.Spec.GitRepo, secret) {
			t.Errorf("reading %s: %+v, %v", w.Name, got, err)
		}
	}
}

// TestEncryptionAtRest goes through the rotation of keys: none, the first, a second one, and the
// removal of the first. All Websites can be read in every state.
func TestEncryptionAtRest(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	config := filepath.Join(t.TempDir(), "encryption.yaml")
	framework.WriteFile(t, config, encryptionConfig())
	s := framework.NewServer(t, "--encryption-provider-config="+config)
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1alpha1().Websites(namespace)
	create := func(name string) {
		t.Helper()
		if _, err := websites.Create(ctx, framework.NewV1alpha1(namespace, name, framework.V1alpha1Replicas(0)),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	stored := func(want map[string]string) {
		t.Helper()
		checkStored(t, s, namespace, want)
	}
	use := func(keys ...string) {
		t.Helper()
		framework.WriteFile(t, config, encryptionConfig(keys...))
		if err := s.Restart(ctx); err != nil {
			t.Fatal(err)
		}
	}

	create("a")
	stored(map[string]string{"a": plain})
	use("first")
	create("b")
	stored(map[string]string{"a": plain, "b": first})
	if out, _ := migrate(t, s); !strings.HasPrefix(out, "2 Websites: 1 rewritten, 1 current") {
		t.Errorf("migration to the first key: %s", out)
	}
	stored(map[string]string{"a": first, "b": first})

	use("second", "first")
	create("c")
	stored(map[string]string{"a": first, "b": first, "c": second})
	if out, _ := migrate(t, s); !strings.HasPrefix(out, "3 Websites: 2 rewritten, 1 current") {
		t.Errorf("migration to the second key: %s", out)
	}
	use("second")
	stored(map[string]string{"a": second, "b": second, "c": second})
}

// TestRemovedKey: if a key is removed too early, reads of its Websites fail with an error.
func TestRemovedKey(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	config := filepath.Join(t.TempDir(), "encryption.yaml")
	framework.WriteFile(t, config, encryptionConfig("first"))
	s := framework.NewServer(t, "--encryption-provider-config="+config)
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1alpha1().Websites(namespace)
	for _, name := range []string{"kubia", "lost"} {
		if _, err := websites.Create(ctx, framework.NewV1alpha1(namespace, name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	framework.WriteFile(t, config, encryptionConfig("second"))
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the list of undecryptable Websites fails", func(ctx context.Context) error {
		code, body, err := framework.SecureGet(ctx, t,
			s.URL+"/apis/"+v1alpha1.SchemeGroupVersion.String()+"/websites?limit=1", true)
		if err != nil {
			return err
		}
		want := fmt.Sprintf("Website %s/kubia cannot be read from the store: data from the storage is not transformable "+
			"revision=0: no matching key was found for the provided AES transformer", namespace)
		if code != http.StatusInternalServerError || !strings.Contains(body, want) {
			return fmt.Errorf("got %d %s, want %q", code, body, want)
		}
		return nil
	})
	// Without its key, a Website can still be deleted.
	if err := framework.StoreReadError(websites.Delete(ctx, "lost", metav1.DeleteOptions{}), namespace,
		"lost"); err != nil {
		t.Error(err)
	}
	if err := websites.Delete(ctx, "lost",
		metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr.To(true)}); err != nil {
		t.Errorf("unsafe deletion: %v", err)
	}

	framework.WriteFile(t, config, encryptionConfig("second", "first"))
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := websites.Get(ctx, "kubia", metav1.GetOptions{}); err != nil {
		t.Errorf("with the key back: %v", err)
	}
	if _, err := websites.Get(ctx, "lost", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("with the key back, reading the deleted Website: %v, want NotFound", err)
	}
}
