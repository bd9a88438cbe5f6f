package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

const (
	// systemNamespace is the namespace of the installation.
	systemNamespace = "website-system"
	// user is the user ID of the programs.
	user = 65532
	// kubectlTimeout is framework.WaitTimeout for the waits of kubectl.
	kubectlTimeout = "--timeout=4m"
)

// importImages imports the images of an unchanging checkout, with a tag, into the node. They are built once for
// each state of its modules.
func importImages(t *testing.T, checkout, tag string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", filepath.Join("hack", "images", "go.mod")} {
		content, err := os.ReadFile(filepath.Join(checkout, name))
		if err != nil {
			t.Fatal(err)
		}
		hash.Write(content)
	}
	name := fmt.Sprintf("%.12s-%s-%s-%x", filepath.Base(checkout), tag, runtime.Version(), hash.Sum(nil)[:6])
	dir := filepath.Join(cache, "website-apiserver", "releases", name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		buildImages(t, checkout, tag, dir)
	} else if err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.oci.tar"))
	if err != nil || len(archives) != 3 {
		t.Fatalf("the images are %v, %v, want three", archives, err)
	}
	for _, archive := range archives {
		if err := framework.Cluster.ImportImage(t.Context(), archive); err != nil {
			t.Fatal(err)
		}
	}
}

// buildImages creates a directory with images atomically.
func buildImages(t *testing.T, checkout, tag, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	building := dir + ".building"
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd", "--out="+building,
		"--platforms=linux/"+runtime.GOARCH, "--tag="+tag)
	cmd.Dir = filepath.Join(checkout, "hack", "images")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the images: %v\n%s", err, out)
	}
	if err := os.Rename(building, dir); err != nil {
		t.Fatal(err)
	}
}

// provideVolumes creates a default StorageClass with volumes, which are directories of the node.
func provideVolumes(t *testing.T, count int) {
	t.Helper()
	client := framework.Admin(t).Kubernetes
	_, err := client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "standard",
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: "kubernetes.io/no-provisioner",
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		name := fmt.Sprintf("website-store-%d", i)
		dir := filepath.Join(framework.Cluster.Dir(), "node", name)
		if err := errors.Join(os.MkdirAll(dir, 0o750), os.Chown(dir, user, user)); err != nil {
			t.Fatal(err)
		}
		_, err = client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName:              "standard",
				AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")},
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// applyDefault installs artifacts/default.
func applyDefault(t *testing.T) {
	t.Helper()
	framework.Kubectl(t, "apply", "-k", framework.Path("artifacts", "default"))
}

// waitServed waits until the API is served, also the OpenAPI documents for kubectl.
func waitServed(t *testing.T) {
	t.Helper()
	waitListed(t)
	framework.WaitForOpenAPI(t)
}

// waitListed waits until kubectl lists Websites.
func waitListed(t *testing.T) {
	t.Helper()
	framework.WaitFor(t, "the Website API is served", func(ctx context.Context) error {
		_, stderr, err := framework.Cluster.Kubectl(ctx, "get", "websites", "--all-namespaces")
		if err != nil {
			return fmt.Errorf("%w: %s", err, stderr)
		}
		return nil
	})
}

// push creates a repository with a page.
func push(t *testing.T, name string) (url, commit string) {
	t.Helper()
	dir := t.TempDir()
	framework.WriteFile(t, filepath.Join(dir, "index.html"), []byte(page(name)))
	commit, err := framework.Cluster.CommitToRepository(t.Context(), name, dir, "Publish "+name)
	if err != nil {
		t.Fatal(err)
	}
	return framework.Cluster.GitServerURL() + "/" + name + ".git", commit
}

// publish creates a repository with a page, and a Website of it.
func publish(t *testing.T, namespace, name string) {
	t.Helper()
	repository, _ := push(t, name)
	framework.KubectlWith(t, framework.Stdin(`apiVersion: mycontroller.nevermosby.io/v1beta1
kind: Website
metadata: {name: `+name+`, namespace: `+namespace+`}
spec: {source: {git: {repository: `+repository+`}}, service: {type: NodePort}}
`), "apply", "-f", "-")
}

// waitPage waits until a page is served.
func waitPage(t *testing.T, namespace, name string) {
	t.Helper()
	framework.WaitFor(t, "the page of "+name+" is served", func(ctx context.Context) error {
		url, err := framework.Cluster.NodePortURL(ctx, namespace, name+"-npsvc")
		if err != nil {
			return err
		}
		body, err := get(ctx, url)
		if err == nil && body != page(name) {
			err = fmt.Errorf("%s serves %q", url, body)
		}
		return err
	})
}

// page returns the page of a site.
func page(name string) string { return "<h1>" + name + "</h1>" }

func get(ctx context.Context, url string) (string, error) {
	return getWith(ctx, &http.Client{Timeout: 10 * time.Second}, url)
}

func getWith(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	return string(body), err
}

// children returns the UIDs of the pods and of the objects that Websites own in a namespace,
// by name.
func children(t *testing.T, namespace string) map[string]string {
	t.Helper()
	found := map[string]string{}
	out := framework.Kubectl(t, "get", "deployments,replicasets,services,configmaps,pods", "--namespace="+namespace,
		"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}={.metadata.uid}{"\n"}{end}`)
	for line := range strings.Lines(out) {
		name, uid, _ := strings.Cut(strings.TrimSpace(line), "=")
		found[name] = uid
	}
	if len(found) < 5 {
		t.Fatalf("namespace %s has only %v", namespace, found)
	}
	return found
}

// requireSame fails the test if children have been deleted or replaced.
func requireSame(t *testing.T, namespace string, before map[string]string) {
	t.Helper()
	if after := children(t, namespace); !maps.Equal(before, after) {
		t.Errorf("namespace %s had %v, now it has %v", namespace, before, after)
	}
}

// requireIncluded fails the test if one of these children has been deleted or replaced. There may be others.
func requireIncluded(t *testing.T, namespace string, before map[string]string) {
	t.Helper()
	after := children(t, namespace)
	maps.DeleteFunc(after, func(name, _ string) bool { return before[name] == "" })
	if !maps.Equal(before, after) {
		t.Errorf("namespace %s had %v, now it has %v", namespace, before, after)
	}
}

// waitRemoved waits until all pods of the installation are gone.
func waitRemoved(t *testing.T) {
	t.Helper()
	pods := framework.Admin(t).Kubernetes.CoreV1().Pods(systemNamespace)
	framework.WaitFor(t, "the pods of the installation are gone", func(ctx context.Context) error {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d are left, the first is %s", len(list.Items), list.Items[0].Name)
		}
		return err
	})
}

// requireKept fails the test unless the volume of the store still exists.
func requireKept(t *testing.T) {
	t.Helper()
	core := framework.Admin(t).Kubernetes.CoreV1()
	namespace, err := core.Namespaces().Get(t.Context(), systemNamespace, metav1.GetOptions{})
	if err != nil || namespace.DeletionTimestamp != nil {
		t.Errorf("the namespace is not kept: %v, %v", namespace, err)
	}
	claim, err := core.PersistentVolumeClaims(systemNamespace).Get(t.Context(), "data-website-apiserver-0",
		metav1.GetOptions{})
	if err != nil || claim.DeletionTimestamp != nil {
		t.Errorf("the claim of the store is not kept: %v, %v", claim, err)
	}
	if _, err := core.ConfigMaps(systemNamespace).Get(t.Context(), "website-store", metav1.GetOptions{}); err != nil {
		t.Errorf("the record of the store is not kept: %v", err)
	}
	_, err = framework.Admin(t).Kubernetes.AppsV1().StatefulSets(systemNamespace).Get(t.Context(), "website-apiserver",
		metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("website-apiserver is still there: %v", err)
	}
}

// logLine matches a line of kubectl's own log, such as a retry.
var logLine = regexp.MustCompile(`^[EIW][0-9]{4} `)

// complaints returns the errors and warnings in kubectl's output.
func complaints(stderr string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(stderr), "\n"), func(line string) bool {
		return line == "" || logLine.MatchString(line)
	})
}

// keepSystem saves kubectl's output for the installation if a test fails.
func keepSystem(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		if err := os.MkdirAll(framework.Path("_artifacts", "install"), 0o755); err != nil {
			t.Error(err)
			return
		}
		for name, args := range map[string][]string{
			"pods.txt":       {"describe", "pods"},
			"objects.yaml":   {"get", "all,persistentvolumeclaims,configmaps,leases", "--output=yaml"},
			"events.txt":     {"get", "events", "--sort-by=.lastTimestamp"},
			"server.log":     {"logs", "website-apiserver-0", "--tail=2000"},
			"previous.log":   {"logs", "website-apiserver-0", "--tail=2000", "--previous"},
			"controller.log": {"logs", "deployment/website-controller", "--tail=2000"},
		} {
			stdout, stderr, err := framework.Cluster.Kubectl(context.Background(),
				append(args, "--namespace="+systemNamespace)...)
			if err != nil {
				stdout += "\n" + err.Error() + ": " + stderr
			}
			framework.WriteFile(t, framework.Path("_artifacts", "install", name), []byte(stdout))
		}
	})
}
