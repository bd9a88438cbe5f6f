package robustness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// restore restores a snapshot that was taken under load, as documented in docs/backup.md. Later
// writes are undone, and the checks read that from the history.
func restore(r *run) error {
	ctx := r.t.Context()
	owners := r.newOwners()
	kept := owners.create("kept")
	snapshot := filepath.Join(r.t.TempDir(), "snapshot.db")
	revision, err := takeSnapshot(ctx, snapshot)
	if err != nil {
		return err
	}
	undone := owners.create("undone")
	r.calm(holdTime())

	record := history.Restore{Snapshot: revision}
	if err := r.stopEtcd(); err != nil {
		return err
	}
	record.Stopped = r.recorder.Now()
	for name := range r.members {
		if err := restoreMember(ctx, name, snapshot); err != nil {
			return err
		}
	}
	// The members need each other to become ready.
	for name := range r.members {
		if err := process(name).Start(ctx); err != nil {
			return err
		}
	}
	r.waitClosed()
	record.Closed = r.recorder.Now()
	follower := r.follow()
	record.Revision, record.Objects = follower.Revision(), follower.Websites()
	follower.Start()
	r.measure(during, func() { r.calm(holdTime()) })
	owners.mustHave(kept, undone)

	record.Accepted = r.recorder.Now()
	r.recorder.Restore(record)
	if output, err := storeCommand(ctx, "accept", "--kubeconfig="+framework.Cluster.Kubeconfig()); err != nil {
		return fmt.Errorf("store accept: %w: %s", err, output)
	}
	r.waitReady()
	owners.waitGone(undone)
	owners.mustHave(kept)
	return nil
}

// storeCommand runs "website-apiserver store" with the servers' flags for the store.
func storeCommand(ctx context.Context, args ...string) (output string, err error) {
	server := process(anyOf(framework.Cluster.WebsiteAPIServers())).Args()
	for _, arg := range server[1:] {
		if strings.HasPrefix(arg, "--etcd-") {
			args = append(args, arg)
		}
	}
	data, err := exec.CommandContext(ctx, server[0], append([]string{"store"}, args...)...).CombinedOutput()
	return string(data), err
}

var snapshotRevision = regexp.MustCompile(`Websites at revision ([0-9]+)`)

// takeSnapshot returns the revision of the snapshot.
func takeSnapshot(ctx context.Context, path string) (revision int64, err error) {
	output, err := storeCommand(ctx, "snapshot", path)
	if err != nil {
		return 0, fmt.Errorf("store snapshot: %w: %s", err, output)
	}
	found := snapshotRevision.FindStringSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("store snapshot printed no revision: %s", output)
	}
	return strconv.ParseInt(found[1], 10, 64)
}

// stopEtcd kills all members once the test has received all their changes. Servers are paused
// meanwhile: a write that etcd acknowledges after that could not be distinguished from a lost one.
func (r *run) stopEtcd() (err error) {
	for name := range framework.Cluster.WebsiteAPIServers() {
		p := process(name)
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.Signal(syscall.SIGCONT)) }()
	}
	if err := r.waitUnchanged(); err != nil {
		return err
	}
	if err := r.follower.Mark(r.t.Context()); err != nil {
		return err
	}
	r.stopFollowing()
	for name := range r.members {
		if err := process(name).Kill(r.t.Context()); err != nil {
			return err
		}
	}
	return nil
}

// waitUnchanged waits until etcd has written all requests that servers sent before the pause: a
// request that a member has not read yet, or forwards to the leader, is written after a marker.
func (r *run) waitUnchanged() error {
	const want = 10
	var revision int64
	unchanged := 0
	return framework.Poll(r.t.Context(), 100*time.Millisecond, framework.WaitTimeout, func(ctx context.Context) error {
		read, err := r.etcd.Get(ctx, "revision")
		if err != nil {
			return err
		}
		if read.Header.Revision != revision {
			revision, unchanged = read.Header.Revision, 0
		}
		if unchanged++; unchanged < want {
			return fmt.Errorf("etcd was at revision %d in %d reads, want %d", revision, unchanged, want)
		}
		return nil
	})
}

// restoreMember replaces the data of a stopped member.
func restoreMember(ctx context.Context, name, snapshot string) error {
	args, dir := []string{"store", "restore"}, ""
	for _, arg := range process(name).Args()[1:] {
		switch {
		case strings.HasPrefix(arg, "--data-dir="):
			dir = strings.TrimPrefix(arg, "--data-dir=")
			args = append(args, "--output-dir="+dir)
		case strings.HasPrefix(arg, "--name="), strings.HasPrefix(arg, "--initial-"):
			args = append(args, arg)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the data of %s: %w", name, err)
	}
	program := process(anyOf(framework.Cluster.WebsiteAPIServers())).Args()[0]
	if output, err := exec.CommandContext(ctx, program, append(args, snapshot)...).CombinedOutput(); err != nil {
		return fmt.Errorf("store restore of %s: %w: %s", name, err, output)
	}
	return nil
}

// owners are Websites with one owned object each, which the garbage collector deletes with its
// owner. They are in a namespace without load.
type owners struct {
	*run
	namespace string
	clients   framework.Clients
}

func (r *run) newOwners() *owners {
	return &owners{run: r, namespace: framework.NewNamespace(r.t), clients: framework.Admin(r.t)}
}

// create creates a Website, and a ConfigMap of the same name that it owns.
func (o *owners) create(name string) *corev1.ConfigMap {
	o.t.Helper()
	website, err := o.clients.Websites.WebsiteV1beta1().Websites(o.namespace).Create(o.t.Context(),
		framework.NewWebsite(o.namespace, name), metav1.CreateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	owned, err := o.clients.Kubernetes.CoreV1().ConfigMaps(o.namespace).Create(o.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: name, OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(website, v1beta1.SchemeGroupVersion.WithKind("Website")),
			},
		}}, metav1.CreateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	return owned
}

// mustHave fails the test if an owned object is deleted or being deleted.
func (o *owners) mustHave(owned ...*corev1.ConfigMap) {
	o.t.Helper()
	for _, want := range owned {
		got, err := o.clients.Kubernetes.CoreV1().ConfigMaps(o.namespace).Get(o.t.Context(), want.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			o.t.Errorf("the object of Website %s: %v", want.Name, err)
		case got.UID != want.UID || got.DeletionTimestamp != nil:
			o.t.Errorf("the object of Website %s was deleted", want.Name)
		}
	}
}

// waitGone waits until the garbage collector has deleted the object of an undone Website.
func (o *owners) waitGone(owned *corev1.ConfigMap) {
	o.t.Helper()
	framework.WaitFor(o.t, "the object of Website "+owned.Name+" is deleted, as was accepted",
		func(ctx context.Context) error {
			_, err := o.clients.Kubernetes.CoreV1().ConfigMaps(o.namespace).Get(ctx, owned.Name, metav1.GetOptions{})
			if err == nil {
				return errors.New("it is still there")
			}
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
}
