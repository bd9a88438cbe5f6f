package devcluster

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestInstallation: another image of a program results in another pod.
func TestInstallation(t *testing.T) {
	repo := t.TempDir()
	artifacts := filepath.Join(repo, "artifacts", "default")
	if err := os.MkdirAll(artifacts, 0o700); err != nil {
		t.Fatal(err)
	}
	// A checkout may be reached through a symbolic link.
	link := filepath.Join(t.TempDir(), "checkout")
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	l := newLayout(t)
	archives := map[string]string{websiteAPIServer: "server.tar", websiteController: "controller.tar"}
	if err := writeInstallation(l, link, archives, []string{"--default-gateway=gateway/public"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(l.installation(), "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Resources []string
		Patches   []struct{ Patch string }
	}
	if err := json.Unmarshal(data, &kustomization); err != nil {
		t.Fatal(err)
	}
	if len(kustomization.Resources) != 1 || filepath.IsAbs(kustomization.Resources[0]) {
		t.Fatalf("the resources are %v", kustomization.Resources)
	}
	if found, err := filepath.EvalSymlinks(filepath.Join(l.installation(), kustomization.Resources[0])); err != nil ||
		found != artifacts {
		t.Errorf("%s leads to %s, %v, want %s", kustomization.Resources[0], found, err, artifacts)
	}
	if len(kustomization.Patches) != len(workloads)+1 {
		t.Fatalf("the patches are %v", kustomization.Patches)
	}
	if flag := kustomization.Patches[len(workloads)].Patch; !strings.Contains(flag, "--default-gateway=gateway/public") {
		t.Errorf("the patch with the flags of website-controller is %s", flag)
	}
	for i, w := range workloads {
		if patch := kustomization.Patches[i].Patch; !strings.Contains(patch, w.kind) ||
			!strings.Contains(patch, archives[w.name]) {
			t.Errorf("the patch of %s is %s", w.name, patch)
		}
	}
}

func TestProductArchives(t *testing.T) {
	repo := t.TempDir()
	if err := os.Mkdir(filepath.Join(repo, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &plan{options: Options{RepoDir: repo, CacheDir: t.TempDir()}}
	for _, name := range []string{websiteAPIServer, websiteController, websiteAgent, imagesCommand} {
		writeTestFile(t, p.product(name), "one")
	}
	first, err := p.productArchives()
	if err != nil || len(first) != 3 {
		t.Fatalf("the archives are %v, %v", first, err)
	}
	writeTestFile(t, p.product(websiteController), "two")
	second, err := p.productArchives()
	if err != nil {
		t.Fatal(err)
	}
	if second[websiteAPIServer] != first[websiteAPIServer] || second[websiteController] == first[websiteController] {
		t.Errorf("with another website-controller, the archives were %v, are %v", first, second)
	}
	writeTestFile(t, p.product(imagesCommand), "two")
	if third, err := p.productArchives(); err != nil || third[websiteAPIServer] == second[websiteAPIServer] {
		t.Errorf("with another way to make images, the archives were %v, are %v, %v", second, third, err)
	}
}

func TestPodWaits(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason,
		message string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff",
		Message: "no such image"}}
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"new": {corev1.PodStatus{Phase: corev1.PodPending}, "Pending"},
		"unschedulable": {
			corev1.PodStatus{
				Conditions: []corev1.PodCondition{condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable",
					"too little memory")},
			}, "Unschedulable: too little memory",
		},
		"no image": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: waiting}}},
			"ImagePullBackOff: no such image"},
		"crash-looping": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2}},
		}}}, "CrashLoopBackOff: its container ended with exit code 2: kubectl logs --previous --namespace=ns pod"},
		"not ready": {corev1.PodStatus{Conditions: []corev1.PodCondition{
			condition(corev1.PodScheduled, corev1.ConditionTrue, "", ""),
			condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", ""),
		}}, "ContainersNotReady"},
		"ready": {
			corev1.PodStatus{Conditions: []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue, "", "")}}, "",
		},
	} {
		if got := podWaits(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"},
			Status: test.status}); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestModeStays: another kind of node would have another store of Websites.
func TestModeStays(t *testing.T) {
	l := newLayout(t)
	var s settings
	// The choice may change until the cluster has started.
	for _, mode := range []NodeMode{NodeSimulated, NodeReal} {
		if err := errors.Join(s.chooseMode(l, mode), s.chooseStore(l, mode == NodeSimulated)); err != nil {
			t.Errorf("not started, then %s: %v", mode, err)
		}
	}
	if loaded, err := loadSettings(l); err != nil || loaded.Mode != NodeReal || loaded.ExternalEtcd {
		t.Errorf("loadSettings = %+v, %v", loaded, err)
	}
	if err := os.MkdirAll(filepath.Join(l.etcdData(), "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[NodeMode]bool{NodeReal: true, NodeSimulated: false} {
		if err := s.chooseMode(l, mode); (err == nil) != ok {
			t.Errorf("real, then %s: %v", mode, err)
		}
	}
	for external, ok := range map[bool]bool{false: true, true: false} {
		if err := s.chooseStore(l, external); (err == nil) != ok ||
			err != nil && !strings.Contains(err.Error(), "make down") {
			t.Errorf("embedded etcd, then external %t: %v", external, err)
		}
	}
	// Earlier versions recorded no mode and ran the programs beside the cluster.
	for mode, ok := range map[NodeMode]bool{NodeReal: false, NodeSimulated: true} {
		s.Mode = ""
		if err := s.chooseMode(l, mode); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "make down") {
			t.Errorf("unknown, then %s: %v", mode, err)
		}
	}
}
