// Package health tests how Argo CD, and the clients of kstatus (Helm 4 and Flux), assess
// the statuses that website-apiserver and website-controller write.
package health

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

func TestHealth(t *testing.T) {
	tests := map[string]struct {
		website *v1beta1.Website
		// v1alpha1 has no conditions: kstatus assesses an object without conditions as Current.
		v1alpha1 string
		kstatus  kstatus.Status
		argo     string
	}{
		"new": {created(t), "Progressing", kstatus.InProgressStatus, "Progressing"},
		// The controller reports within seconds after its start.
		"stored by a version that wrote no status": {newWebsite(), "Progressing", kstatus.CurrentStatus, "Progressing"},
		"without a Deployment": {computed(newWebsite()), "Progressing",
			kstatus.InProgressStatus, "Progressing"},
		"starting": {computed(newWebsite(), deployment(1, 0)), "Progressing",
			kstatus.InProgressStatus, "Progressing"},
		"serving": {serving(), "Healthy", kstatus.CurrentStatus, "Healthy"},
		"changed": {changed(serving()), "Healthy", kstatus.InProgressStatus, "Progressing"},
		"growing": {computed(scaled(serving(), 3), deployment(2, 1)), "Progressing",
			kstatus.InProgressStatus, "Progressing"},
		"offline": {computed(scaled(newWebsite(), 0), deployment(0, 0)), "Healthy",
			kstatus.CurrentStatus, "Healthy"},
		"suspended": {computed(suspended(newWebsite()), deployment(1, 1)), "Healthy",
			kstatus.CurrentStatus, "Suspended"},
		"suspended before it was published": {computed(suspended(newWebsite()), deployment(1, 0)), "Progressing",
			kstatus.FailedStatus, "Degraded"},
		"name taken": {computed(newWebsite(), failed(v1beta1.WebsiteReasonNameTaken)), "Progressing",
			kstatus.FailedStatus, "Degraded"},
		"quota exceeded": {computed(newWebsite(), failed(v1beta1.WebsiteReasonQuotaExceeded)), "Progressing",
			kstatus.InProgressStatus, "Progressing"},
		"host taken": {routed(v1beta1.WebsiteReasonHostTaken, 0), "Healthy",
			kstatus.FailedStatus, "Degraded"},
		"no Gateway yet": {routed(v1beta1.WebsiteReasonGatewayNotFound, 0), "Healthy",
			kstatus.InProgressStatus, "Progressing"},
		"no Gateway for a long time": {routed(v1beta1.WebsiteReasonGatewayNotFound, time.Hour), "Healthy",
			kstatus.FailedStatus, "Degraded"},
		"unreachable for a long time": {routed(v1beta1.WebsiteReasonHostUnreachable, time.Hour), "Healthy",
			kstatus.InProgressStatus, "Progressing"},
		"DNS elsewhere": {routed(v1beta1.WebsiteReasonDNSElsewhere, time.Hour), "Healthy",
			kstatus.CurrentStatus, "Healthy"},
		"hosts routed": {routed(v1beta1.WebsiteReasonHostsRouted, 0), "Healthy",
			kstatus.CurrentStatus, "Healthy"},
		"previews that cannot be made": {withoutPreviews(), "Healthy", kstatus.CurrentStatus, "Healthy"},
		"deadline exceeded": {computed(newWebsite(), deployment(1, 0), overdue), "Progressing",
			kstatus.FailedStatus, "Degraded"},
	}
	script := healthCheck(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			current := encode(t, test.website, v1beta1.SchemeGroupVersion)
			if result, err := kstatus.Compute(current); err != nil || result.Status != test.kstatus {
				t.Errorf("kstatus = %+v (%v), want %s; the status is %v", result, err, test.kstatus, current.Object["status"])
			}
			for version, want := range map[schema.GroupVersion]string{v1beta1.SchemeGroupVersion: test.argo,
				v1alpha1.SchemeGroupVersion: test.v1alpha1} {
				current := encode(t, test.website, version)
				if health, message, err := argoHealth(t.Context(), script, current); health != want || message == "" || err != nil {
					t.Errorf("Argo CD's health in %s = %q %q (%v), want %s; the status is %v", version.Version, health, message, err,
						want, current.Object["status"])
				}
			}
		})
	}
}

// newWebsite returns a Website as stored, without a status.
func newWebsite() *v1beta1.Website {
	replicas := int32(1)
	return &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site", UID: "1", Generation: 1,
			CreationTimestamp: metav1.Now()},
		Spec: v1beta1.WebsiteSpec{DeploymentName: "site", Replicas: &replicas,
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://example.com/site.git"}}},
	}
}

// created returns a Website as the server stores it on creation.
func created(t *testing.T) *v1beta1.Website {
	t.Helper()
	scheme, _, err := apiserver.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	internal, stored := &website.Website{}, &v1beta1.Website{}
	if err := scheme.Convert(newWebsite(), internal, nil); err != nil {
		t.Fatal(err)
	}
	ctx := genericapirequest.WithRequestInfo(t.Context(),
		&genericapirequest.RequestInfo{APIGroup: website.GroupName, APIVersion: "v1beta1"})
	registry.NewStrategy(scheme).PrepareForCreate(ctx, internal)
	if err := scheme.Convert(internal, stored, nil); err != nil {
		t.Fatal(err)
	}
	return stored
}

// computed gives a Website the status that the controller computes.
func computed(website *v1beta1.Website, tweaks ...func(*status.Input)) *v1beta1.Website {
	in := &status.Input{Website: website, Now: time.Now()}
	for _, tweak := range tweaks {
		tweak(in)
	}
	website.Status = status.Compute(in)
	return website
}

func serving() *v1beta1.Website { return computed(newWebsite(), deployment(1, 1)) }

// routed returns a Website whose condition Routed has had a reason for some time.
func routed(reason string, since time.Duration) *v1beta1.Website {
	website := newWebsite()
	website.Spec.Hosts = []v1beta1.WebsiteHost{{Name: "shop.example.com", Role: v1beta1.HostRoleAlias}}
	website.Status.Conditions = []metav1.Condition{{Type: v1beta1.WebsiteRouted, Status: metav1.ConditionFalse,
		Reason: reason, Message: "x", ObservedGeneration: 1}}
	found := func(ago time.Duration) func(*status.Input) {
		return func(in *status.Input) {
			in.Routing, in.Now = &status.Routing{Unknown: "it is as before"}, in.Now.Add(-ago)
		}
	}
	return computed(computed(website, deployment(1, 1), found(since)), deployment(1, 1), found(0))
}

func withoutPreviews() *v1beta1.Website {
	return computed(newWebsite(), deployment(1, 1), func(in *status.Input) {
		in.Previews = &status.Previews{Listed: true,
			Problem: &problem.Problem{Reason: v1beta1.WebsiteReasonQuotaExceeded, Message: "x"}}
	})
}

func changed(website *v1beta1.Website) *v1beta1.Website {
	website.Generation++
	return website
}

func scaled(website *v1beta1.Website, replicas int32) *v1beta1.Website {
	website.Spec.Replicas = &replicas
	return changed(website)
}

func suspended(website *v1beta1.Website) *v1beta1.Website {
	website.Spec.Suspend = new(true)
	return website
}

// deployment returns the Deployment of the Website, with as many of its pods.
func deployment(pods, available int32) func(*status.Input) {
	return func(in *status.Input) {
		in.Deployment = cached.OfDeployment(&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site", Generation: 1},
			Spec:       appsv1.DeploymentSpec{Replicas: in.Website.Spec.Replicas},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: pods, UpdatedReplicas: pods,
				ReadyReplicas: available, AvailableReplicas: available},
		})
	}
}

func overdue(in *status.Input) {
	in.Deployment.Status.Progressing = corev1.ConditionFalse
	in.Deployment.Status.ProgressingReason = "ProgressDeadlineExceeded"
}

func failed(reason string) func(*status.Input) {
	return func(in *status.Input) { in.Problem = &problem.Problem{Reason: reason, Message: "a message"} }
}

// encode returns a Website as clients read it in a version.
func encode(t *testing.T, stored *v1beta1.Website, version schema.GroupVersion) *unstructured.Unstructured {
	t.Helper()
	scheme, codecs, err := apiserver.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	internal := &website.Website{}
	if err := scheme.Convert(stored, internal, nil); err != nil {
		t.Fatal(err)
	}
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	data, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, version), internal)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return object
}
