package cached

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	websitev1beta1ac "github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
)

const commit = "0123456789012345678901234567890123456789"

// appliedFields are the managed fields of configured.
const appliedFields = `{"f:metadata":{"f:annotations":{"f:` + GenerationAnnotation + `":{}},"f:labels":{"f:app":{}}},
	"f:spec":{"f:replicas":{},"f:template":` +
	`{"f:spec":{"f:containers":{"k:{\"name\":\"nginx\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`

// configured returns a Deployment as the controller applies it.
func configured() *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("site", "default").WithLabels(map[string]string{"app": "site"}).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(2).
			WithTemplate(
				corev1ac.PodTemplateSpec().WithSpec(
					corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("nginx").WithImage("nginx:1")),
				),
			))
}

// newDeployment returns the Deployment of configured with fields of other clients.
func newDeployment(tweaks ...func(*appsv1.Deployment)) *appsv1.Deployment {
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "site", Labels: map[string]string{"app": "site", "team": "a"},
			Annotations: map[string]string{GenerationAnnotation: "7"},
			ManagedFields: []metav1.ManagedFieldsEntry{entry("kubectl", `{"f:metadata":{"f:labels":{"f:team":{}}}}`),
				entry(FieldManager, appliedFields)},
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Paused: true,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: "git-sync", Args: []string{"--root=/site", "--ref=" + commit}}},
				Containers: []corev1.Container{
					{Name: "nginx", Image: "nginx:1", TerminationMessagePath: "/dev/termination-log"},
				},
				Volumes: []corev1.Volume{{Name: "work"}, {Name: "config", VolumeSource: corev1.VolumeSource{
					ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "site-nginx"}},
				}}},
				RestartPolicy: corev1.RestartPolicyAlways,
			}}},
	}
	for _, tweak := range tweaks {
		tweak(deployment)
	}
	return deployment
}

func TestDeployment(t *testing.T) {
	deployment := OfDeployment(newDeployment(func(d *appsv1.Deployment) {
		d.Annotations[revisionAnnotation] = "3"
		d.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable"},
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "a quota"},
		}
	}))
	if deployment.IsFormer || !slices.Equal(deployment.NginxConfigMaps, []string{"site-nginx"}) || !deployment.Paused ||
		deployment.Replicas != 2 || deployment.Revision != "3" || !deployment.Written().WasApplied() {
		t.Errorf("the cache holds %+v", deployment)
	}
	if want := (DeploymentStatus{Progressing: corev1.ConditionTrue, ProgressingReason: "NewReplicaSetAvailable",
		ReplicaFailure: "a quota"}); deployment.Status != want {
		t.Errorf("the status is %+v, want %+v", deployment.Status, want)
	}
	if again := Of(deployment); again != any(deployment) { // An informer may transform an object more than once.
		t.Errorf("trimmed once more it is %+v", again)
	}
}

// desiredDigest returns the digest of configured.
func desiredDigest(t *testing.T) Digest {
	t.Helper()
	digest, err := Deployments.Digest(configured())
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestAppliedDigest: the digest of a cached Deployment shows whether another client has changed an
// applied field.
func TestAppliedDigest(t *testing.T) {
	wanted := desiredDigest(t)
	const same, template, rest = "", "template", "rest"
	for name, test := range map[string]struct {
		tweak func(*appsv1.Deployment)
		want  string
	}{
		"as applied":            {func(*appsv1.Deployment) {}, same},
		"of another generation": {func(d *appsv1.Deployment) { d.Annotations[GenerationAnnotation] = "8" }, same},
		"a label of another":    {func(d *appsv1.Deployment) { d.Labels["team"] = "b" }, same},
		"a label":               {func(d *appsv1.Deployment) { d.Labels["app"] = "other" }, rest},
		"replicas":              {func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](3) }, rest},
		"an image": {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "nginx:2" },
			template},
		"nothing that was applied": {func(d *appsv1.Deployment) { d.ManagedFields = d.ManagedFields[:1] }, template + rest},
		"nothing that was applied, of a pod with several configurations": {func(d *appsv1.Deployment) {
			d.ManagedFields = nil
			d.Spec.Template.Spec.Volumes = append(d.Spec.Template.Spec.Volumes,
				corev1.Volume{Name: "more", VolumeSource: d.Spec.Template.Spec.Volumes[1].VolumeSource})
		}, template + rest},
		"a container twice": {func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, d.Spec.Template.Spec.Containers[0])
		}, template},
		"a variable twice, in a container of another": {func(d *appsv1.Deployment) {
			twice := []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers,
				corev1.Container{Name: "sidecar", Env: twice})
		}, same},
	} {
		applied, got := OfDeployment(newDeployment(test.tweak)).Applied, ""
		if applied.Content != wanted.Content {
			got += template
		}
		if applied.Rest != wanted.Rest {
			got += rest
		}
		if got != test.want {
			t.Errorf("%s: different is %q, want %q", name, got, test.want)
		}
	}
}

// TestExtractedOnce: a change of the status of a Deployment does not repeat the extraction, other
// changes do.
func TestExtractedOnce(t *testing.T) {
	calls := 0
	extract := func(child *appsv1.Deployment, manager string) (*appsv1ac.DeploymentApplyConfiguration, error) {
		calls++
		return appsv1ac.ExtractDeployment(child, manager)
	}
	at := func(seconds int64) *metav1.Time { return ptr.To(metav1.Unix(seconds, 0)) }
	given := func(d *appsv1.Deployment) {
		d.UID, d.Generation = types.UID(t.Name()), 3
		d.ManagedFields[1].Time = at(100)
		d.ManagedFields = append(d.ManagedFields,
			metav1.ManagedFieldsEntry{Manager: "deployment-controller", Subresource: "status", Time: at(100)})
	}
	for _, test := range []struct {
		name  string
		tweak func(*appsv1.Deployment)
		want  int
	}{
		{"the first", func(*appsv1.Deployment) {}, 1},
		{"the same", func(*appsv1.Deployment) {}, 0},
		{"another status", func(d *appsv1.Deployment) { d.Status.Replicas, d.ManagedFields[2].Time = 2, at(101) }, 0},
		{"another generation", func(d *appsv1.Deployment) { d.Generation = 4 }, 1},
		{"another UID", func(d *appsv1.Deployment) { d.UID += "-2" }, 1},
		{"a label", func(d *appsv1.Deployment) { d.Labels["app"] = "other" }, 1},
		{"an annotation", func(d *appsv1.Deployment) { d.Annotations[GenerationAnnotation] = "8" }, 1},
		{"the revision", func(d *appsv1.Deployment) { d.Annotations["deployment.kubernetes.io/revision"] = "2" }, 0},
		{"fields of its own", func(d *appsv1.Deployment) {
			d.ManagedFields[1].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)
		}, 1},
		{"an owner", func(d *appsv1.Deployment) { d.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} }, 1},
		{"the generation once more, written by another", func(d *appsv1.Deployment) {
			d.ManagedFields[0].FieldsV1, d.ManagedFields[0].Time = metav1.NewFieldsV1(`{"f:spec":{"f:paused":{}}}`), at(102)
		}, 1},
		{"a label of another, which has its own time", func(d *appsv1.Deployment) { d.ManagedFields[0].Time = at(103) }, 0},
		{"without a time", func(d *appsv1.Deployment) { d.ManagedFields[1].Time = nil }, 1},
		{"once more without a time", func(d *appsv1.Deployment) { d.ManagedFields[1].Time = nil }, 1},
		{"without a generation", func(d *appsv1.Deployment) { d.Generation, d.ResourceVersion = 0, "7" }, 1},
		{"once more without a generation", func(d *appsv1.Deployment) { d.Generation, d.ResourceVersion = 0, "7" }, 0},
		{"without a generation, another version", func(d *appsv1.Deployment) { d.Generation, d.ResourceVersion = 0, "8" }, 1},
		{"without a generation, the version once more, written at another time", func(d *appsv1.Deployment) {
			d.Generation, d.ResourceVersion, d.ManagedFields[2].FieldsV1, d.ManagedFields[2].Time = 0, "8",
				metav1.NewFieldsV1(`{"f:data":{}}`), at(104)
		}, 1},
		{"with neither", func(d *appsv1.Deployment) { d.Generation = 0 }, 1},
		{"once more with neither", func(d *appsv1.Deployment) { d.Generation = 0 }, 1},
	} {
		deployment := newDeployment(given, test.tweak)
		direct, err := appsv1ac.ExtractDeployment(deployment, FieldManager)
		if err != nil {
			t.Fatal(err)
		}
		want, err := digestOfDeployment(direct)
		if err != nil {
			t.Fatal(err)
		}
		calls = 0
		got, err := extractDigest(deployment, extract, digestOfDeployment)
		if err != nil || got != want || calls != test.want {
			t.Errorf("%s: extracted %d times, want %d; digest %x, want %x (%v)", test.name, calls, test.want, got, want, err)
		}
	}
}

// TestUnreadable keeps the error of managed fields that cannot be extracted, for the reconciliation to report.
func TestUnreadable(t *testing.T) {
	broken := OfDeployment(newDeployment(func(d *appsv1.Deployment) {
		d.ManagedFields[1].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":[]}`)
	}))
	if broken.Unreadable == nil || !broken.Written().WasApplied() {
		t.Errorf("the notes are %+v, want an error", broken.Written())
	}
}

// TestPreview: the path of a header is part of its key.
func TestPreview(t *testing.T) {
	header := func(path, name string) *websitev1beta1ac.ResponseHeaderApplyConfiguration {
		return websitev1beta1ac.ResponseHeader().WithPath(path).WithName(name).WithValue("1")
	}
	wanted := func(headers ...*websitev1beta1ac.ResponseHeaderApplyConfiguration) Digest {
		t.Helper()
		digest, err := digestOf(
			websitev1beta1ac.Website("site", "default").
				WithSpec(websitev1beta1ac.WebsiteSpec().WithServing(websitev1beta1ac.WebsiteServing().WithHeaders(headers...))),
		)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	preview := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "site", Namespace: "default",
			Annotations: map[string]string{GenerationAnnotation: "1"}, ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply,
				APIVersion: v1beta1.SchemeGroupVersion.String(), FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + GenerationAnnotation +
					`":{}}},"f:spec":{"f:serving":{"f:headers":{
				"k:{\"name\":\"A\",\"path\":\"/\"}":{".":{},"f:name":{},"f:path":{},"f:value":{}},
				"k:{\"name\":\"B\",\"path\":\"/b\"}":{".":{},"f:name":{},"f:path":{},"f:value":{}}}}}}`),
			}}},
		Spec: v1beta1.WebsiteSpec{Serving: v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{
			{Path: "/", Name: "A", Value: "1"}, {Path: "/b", Name: "B", Value: "1"}, {Path: "/", Name: "C", Value: "of another"},
		}}},
	}
	preview.ManagedFields = append(preview.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubectl"})
	TrimPreview(preview)
	if len(preview.ManagedFields) != 1 {
		t.Errorf("the managed fields of others are kept: %+v", preview.ManagedFields)
	}
	notes := NotesOf(preview, Previews)
	applied := notes.Applied
	if want := wanted(header("/", "A"), header("/b", "B")); applied != want || notes.WebsiteGeneration != 1 {
		t.Errorf("applied is %+v, want %+v; of generation %d", applied, want, notes.WebsiteGeneration)
	}
	if applied == wanted(header("/b", "B")) {
		t.Error("a header that is no longer wanted is not seen")
	}
}

// TestServices: Services in the cache differ when their applied fields do.
func TestServices(t *testing.T) {
	service := func(port int32) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "site", Namespace: "default", ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},` +
					`"f:nodePort":{}}}}}`),
			}}},
			Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1",
				Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, NodePort: port}}},
		}
	}
	digest := func(service *corev1.Service) Digest { return OfService(service).Applied }
	if first, second := digest(service(30080)), digest(service(30080)); first != second || first.Rest == (sum{}) {
		t.Errorf("the same Service has the digests %v and %v", first, second)
	}
	if digest(service(30080)) == digest(service(30081)) {
		t.Error("another port has the same digest")
	}
}
