package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

// counter is the annotation that writes of the test change.
const counter = "example.com/counter"

// importCommand returns "website-apiserver import" with the flags and permissions of the server.
func (o *original) importCommand(ctx context.Context, command string) *exec.Cmd {
	args := []string{"import", command, "--propagation-delay=3s"}
	for _, arg := range o.server.Args()[1:] {
		for _, prefix := range []string{"--data-dir=", "--kubeconfig="} {
			if strings.HasPrefix(arg, prefix) {
				args = append(args, arg)
			}
		}
	}
	return exec.CommandContext(ctx, o.server.Args()[0], args...)
}

// mustImport runs a command, and returns its output.
func (o *original) mustImport(t *testing.T, command string) string {
	t.Helper()
	output, err := o.importCommand(t.Context(), command).CombinedOutput()
	if err != nil {
		t.Fatalf("import %s: %v: %s", command, err, output)
	}
	t.Logf("import %s:\n%s", command, output)
	return string(output)
}

// runUntil kills "import run" as soon as it prints a line with a prefix.
func (o *original) runUntil(t *testing.T, prefix string) {
	t.Helper()
	command := o.startUntil(t, prefix)
	_ = command.Process.Kill()
	_ = command.Wait()
}

// interruptFinish interrupts "import run" in its last step, which cannot be reverted.
func (o *original) interruptFinish(t *testing.T) {
	t.Helper()
	command := o.startUntil(t, "finish: register")
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	printed, err := command.resume(t)
	if err == nil || strings.Contains(printed, "import back") || !strings.Contains(printed, "there is no way back") {
		t.Errorf("an interrupted command ends with %v: %s", err, printed)
	}
}

// writer writes to a Website continuously.
type writer struct {
	// acknowledged is the last acknowledged number, refused the number of failed writes.
	acknowledged, refused atomic.Int64
	stop                  func()
}

func (o *original) write(t *testing.T, name string) *writer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writer{}
	var writes sync.WaitGroup
	w.stop = func() {
		cancel()
		writes.Wait()
	}
	t.Cleanup(w.stop)
	writes.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for i := int64(1); ctx.Err() == nil; i++ {
			<-ticker.C
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, counter, i)
			switch _, err := o.dynamic.Resource(originalResource).Namespace(namespace).Patch(ctx, name, types.MergePatchType,
				patch, metav1.PatchOptions{}); {
			case err == nil:
				w.acknowledged.Store(i)
			case apierrors.IsNotFound(err):
				t.Errorf("write %d: %v", i, err)
			case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "being moved to website-apiserver"):
				w.refused.Add(1)
			}
		}
	})
	return w
}

// requireWritten fails the test unless the Website has the last acknowledged write.
func (o *original) requireWritten(t *testing.T, w *writer, name string) {
	t.Helper()
	acknowledged := w.acknowledged.Load()
	got, err := o.dynamic.Resource(originalResource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if written, _ := strconv.ParseInt(got.GetAnnotations()[counter], 10, 64); acknowledged == 0 || written < acknowledged {
		t.Errorf("write %d was acknowledged, and the Website has %v", acknowledged, got.GetAnnotations())
	}
	t.Logf("%d writes acknowledged at last, %d refused", acknowledged, w.refused.Load())
}

// TestImport moves Websites of the original CustomResourceDefinition to website-apiserver. The
// command is killed at each line that it prints, kube-controller-manager is restarted in the
// middle, and users write continuously. No child or pod is deleted, and no write is lost.
func TestImport(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	ctx := t.Context()
	manager := o.Process("kube-controller-manager")

	t.Run("invalid Websites are listed", func(t *testing.T) {
		invalid := newOriginalWebsite("invalid", "file:///etc")
		client := o.dynamic.Resource(originalResource).Namespace(namespace)
		if _, err := client.Create(ctx, invalid, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"plan", "run"} {
			output, err := o.importCommand(ctx, command).CombinedOutput()
			if err == nil || !strings.Contains(string(output), "default/invalid is not valid in website-apiserver") {
				t.Errorf("import %s with an invalid Website: %v: %s", command, err, output)
			}
		}
		if _, err := o.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, "website-import",
			metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("writes are refused: %v", err)
		}
		if err := client.Delete(ctx, "invalid", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		o.leaveBehind(t, 0)
		out := o.mustImport(t, "plan")
		for _, want := range []string{"has 5 Websites", `run "kubectl delete -n default deployment/former"`} {
			if !strings.Contains(out, want) {
				t.Errorf("plan printed %s, want %q", out, want)
			}
		}
	})

	t.Run("back", func(t *testing.T) {
		children := o.mustHaveChildren(t)
		o.runUntil(t, "detach: done")
		o.mustImport(t, "back")
		o.unharmed(t, children)
		// Later writes are imported by the next run.
		o.deleteWithChildren(t, 4)
		o.publish(t, 5)
	})

	t.Run("a server that has waited has logged it once", func(t *testing.T) {
		log, err := os.ReadFile(o.server.LogFile())
		if err != nil {
			t.Fatal(err)
		}
		for _, noise := range []string{"createTransport failed", "compact_rev_key"} {
			if n := strings.Count(string(log), noise); n > 0 {
				_, first, _ := strings.Cut(string(log), noise)
				line, _, _ := strings.Cut(first, "\n")
				t.Errorf("the log has %q %d times, first: %s", noise, n, line)
			}
		}
		// The server may detect the store while the copies are written.
		for _, reason := range []string{"StoreEmpty", "UnknownOwners"} {
			n := strings.Count(string(log), fmt.Sprintf(`with 503" reason=%q`, reason))
			if n > 1 || n == 0 && reason == "StoreEmpty" {
				t.Errorf("the log says %d times that the server is closed because of %s:\n%s", n, reason, closings(log))
			}
		}
	})

	t.Run("back, during a run", func(t *testing.T) {
		children := o.mustHaveChildren(t)
		command := o.startUntil(t, "hand over: done")
		o.mustImport(t, "back")
		if output, err := command.resume(t); err == nil || !strings.Contains(output, "another command has gone back") {
			t.Errorf("it ends with %v: %s", err, output)
		}
		if o.definitionGone(ctx) {
			t.Error("the definition is gone")
		}
		// The same happens if the command was about to change it. Watches that start now must be ended
		// as well.
		late := []byte(`[{"op": "add", "path": "/spec/versions/0/deprecated", "value": true},
			{"op": "add", "path": "/spec/versions/0/deprecationWarning",
			"value": "Websites are being moved to website-apiserver (before)"}]`)
		if _, err := o.dynamic.Resource(definitionResource).Patch(ctx, definitionName, types.JSONPatchType, late,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		o.unharmed(t, children)
	})

	children, uids, running := o.mustHaveChildren(t), o.uids(t, "v1alpha1"), o.running(t)
	writes := o.write(t, websiteName(0))
	framework.WaitFor(t, "a write is acknowledged", func(context.Context) error {
		if writes.acknowledged.Load() == 0 {
			return errors.New("none is")
		}
		return nil
	})
	for _, line := range []string{
		"freeze: refuse", "freeze: done", "copy: copy", "copy: the definition", "copy: done", "hand over: have",
		"hand over: done",
		"detach: end", "detach: done", "remove: delete", "remove: done", "finish: register",
	} {
		o.runUntil(t, line)
		switch line {
		case "freeze: done":
			if out := o.mustImport(t, "plan"); !strings.Contains(out, "freeze     done") {
				t.Errorf("plan printed %s after the freeze", out)
			}
		// The restart is not between the handover and the removal: the garbage collector must watch the
		// storage of the definition from here on.
		case "copy: done":
			o.restart(t, manager)
		case "hand over: done":
			o.requireWritten(t, writes, websiteName(0))
		}
	}
	o.interruptFinish(t)
	o.mustImport(t, "run")
	before := writes.acknowledged.Load()
	framework.WaitFor(t, "writes are permitted", func(context.Context) error {
		if writes.acknowledged.Load() == before {
			return errors.New("they are refused")
		}
		return nil
	})
	writes.stop()
	o.requireWritten(t, writes, websiteName(0))
	if writes.refused.Load() == 0 {
		t.Error("no write was refused")
	}

	if !o.definitionGone(ctx) {
		t.Error("the definition is there")
	}
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		if got := o.uids(t, version); !maps.Equal(got, uids) {
			t.Errorf("%s has %v, want %v", version, got, uids)
		}
	}
	website, err := o.websites.WebsiteV1beta1().Websites(namespace).Get(ctx, websiteName(0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if website.Labels["team"] != "a" || website.Spec.Source.Git.Repository != "https://example.com/w0.git" {
		t.Errorf("the Website has the labels %v and %v", website.Labels, website.Spec)
	}
	output, err := o.importCommand(ctx, "run").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "nothing is to be imported") {
		t.Errorf("import run afterwards: %v: %s", err, output)
	}

	// The garbage collector uses the new API: it deletes only the children of the deleted Website.
	o.delete(t, 1)
	maps.DeleteFunc(children, func(_ types.UID, c child) bool { return c.website == websiteName(1) })
	o.restart(t, manager)
	o.unharmed(t, children)
	after := o.running(t)
	for name, was := range running {
		if got := after[name]; got != was && !strings.HasPrefix(name, websiteName(1)) {
			t.Errorf("%s was %s and is %s", name, was, got)
		}
	}
}

// closings returns the lines of a log about the store being closed or open.
func closings(log []byte) string {
	var lines strings.Builder
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "the server is open") || strings.Contains(line, "The server is closed") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// restart kills kube-controller-manager, and waits until its successor collects garbage.
func (o *original) restart(t *testing.T, manager *devcluster.Process) {
	t.Helper()
	if err := manager.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustStart(t, manager)
	o.waitCollected(t)
}

// waitCollected waits until the garbage collector runs, and has deleted the child of a
// missing owner.
func (o *original) waitCollected(t *testing.T) {
	t.Helper()
	client := o.kube.CoreV1().ConfigMaps(namespace)
	canary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "canary"}}
	canary.OwnerReferences = []metav1.OwnerReference{{APIVersion: "mycontroller.nevermosby.io/v1alpha1", Kind: "Website",
		Name: "gone", UID: "0b6ef1b1-7fd2-4d5b-9ae3-c0bd8a0c0f0d"}}
	if _, err := client.Create(t.Context(), canary, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	framework.WaitFor(t, "the canary is collected", func(ctx context.Context) error {
		_, err := client.Get(ctx, "canary", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there"))
	})
	t.Logf("the garbage collector has deleted the canary after %s", time.Since(start).Round(100*time.Millisecond))
}
