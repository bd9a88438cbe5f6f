package controller

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestReadyAt(t *testing.T) {
	o, begin := newObserver(func(error) {}), time.Unix(0, 0)
	for i, seen := range []struct {
		generation int
		ready      string
	}{{1, "False"}, {1, "True"}, {1, "True"}, {2, "False"}, {4, "True"}} {
		var w website
		object := fmt.Sprintf(`{"metadata":{"name":"site"},"status":{"observedGeneration":%d,`+
			`"conditions":[{"type":"Synced","status":"True"},{"type":"Ready","status":%q}]}}`, seen.generation, seen.ready)
		if err := json.Unmarshal([]byte(object), &w); err != nil {
			t.Fatal(err)
		}
		o.observe(&w, begin.Add(time.Duration(i)*time.Second))
	}
	for generation, want := range map[int64]int{1: 1, 2: 4, 4: 4} {
		if at, seen := o.readyAt("site", generation); !seen || at != begin.Add(time.Duration(want)*time.Second) {
			t.Errorf("generation %d was Ready at %v, want %d s", generation, at, want)
		}
	}
	if _, seen := o.readyAt("site", 5); seen {
		t.Error("generation 5 was never Ready")
	}
}

func TestObserveDeployment(t *testing.T) {
	o := newObserver(func(error) {})
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "site"},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(0))}}
	o.observeDeployment(d, time.Unix(1, 0))
	if _, seen := o.availableAt("site"); seen {
		t.Error("a Deployment without an observed generation is not available")
	}
	d.Status.ObservedGeneration = 1
	o.observeDeployment(d, time.Unix(2, 0))
	o.observeDeployment(d, time.Unix(3, 0))
	if at, _ := o.availableAt("site"); at != time.Unix(2, 0) {
		t.Errorf("available at %v, want the first time", at)
	}
}

// TestManifest: the server's defaults make of the manifest the Website from which the floor's
// children are built.
func TestManifest(t *testing.T) {
	want := newWebsite("default", "site", 3)
	body, err := manifest(v1beta1.SchemeGroupVersion.String(), want)
	if err != nil {
		t.Fatal(err)
	}
	var have v1beta1.Website
	if err := json.Unmarshal(body, &have); err != nil {
		t.Fatal(err)
	}
	v1beta1.SetObjectDefaults_Website(&have)
	if want.Spec.Polling.PeriodSeconds == 0 || !equality.Semantic.DeepEqual(have.Spec, want.Spec) {
		t.Errorf("the manifest makes %+v, the floor has %+v", have.Spec, want.Spec)
	}
}

func TestParseQueue(t *testing.T) {
	const ours = `# TYPE workqueue_depth gauge
leader_election_master_status{name="website-controller"} 1
workqueue_depth{name="other"} 7
workqueue_depth{name="websites"} 3
workqueue_unfinished_work_seconds{name="websites"} 0.5
workqueue_work_duration_seconds_count{name="websites"} 12
process_start_time_seconds 1
`
	if got, want := parseQueue(ours, "websites"), (queue{true, 3, 0.5, 12}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	const theirs = `leader_election_master_status{name="scaffold-controller"} 0
workqueue_depth{controller="website",name="website",priority="0"} 1
workqueue_depth{controller="website",name="website",priority="-100"} 2
workqueue_work_duration_seconds_count{controller="website",name="website"} 4
`
	if got, want := parseQueue(theirs, "website"), (queue{false, 3, 0, 4}); got != want || got.isEmpty() {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !(queue{leads: true}).isEmpty() {
		t.Error("a leader without keys has an empty queue")
	}
}
