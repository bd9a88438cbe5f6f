package adoption

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	websitefake "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/fake"
)

func newWebsite(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	website := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubia", UID: "uid-of-kubia"},
		Spec:       v1beta1.WebsiteSpec{DeploymentName: "kubia-website"},
	}
	for _, tweak := range tweaks {
		tweak(website)
	}
	return website
}

// tweak changes a child for a test.
type tweak func(*metav1.PartialObjectMetadata)

// restored returns a child as a backup has restored it.
func restored(apiVersion, kind, name string, tweaks ...tweak) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "7",
			Labels: map[string]string{"app.kubernetes.io/managed-by": "website-controller", "controller": "kubia"},
		},
	}
	for _, tweak := range tweaks {
		tweak(object)
	}
	return object
}

func deployment(tweaks ...tweak) *metav1.PartialObjectMetadata {
	return restored("apps/v1", "Deployment", "kubia-website", tweaks...)
}

func withoutLabels(object *metav1.PartialObjectMetadata) { object.Labels = nil }

func labelled(website string) tweak {
	return func(object *metav1.PartialObjectMetadata) { object.Labels["controller"] = website }
}

func ownedBy(owners ...metav1.OwnerReference) tweak {
	return func(object *metav1.PartialObjectMetadata) { object.OwnerReferences = owners }
}

func reference(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: ptr.To(true)}
}

// fixture is an Adopter of fake API servers.
type fixture struct {
	*Adopter
	websites *websitefake.Clientset
	objects  *metadatafake.FakeMetadataClient
	out      bytes.Buffer
}

func newFixture(t *testing.T, websites []*v1beta1.Website, objects ...*metav1.PartialObjectMetadata) *fixture {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f := &fixture{websites: websitefake.NewSimpleClientset(), objects: metadatafake.NewSimpleMetadataClient(scheme)}
	for _, website := range websites {
		if err := f.websites.Tracker().Add(website); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range objects {
		if err := f.objects.Tracker().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	f.Adopter = &Adopter{Websites: f.websites.WebsiteV1beta1(), Objects: f.objects, Namespace: "default", Out: &f.out}
	return f
}

// patches returns the patches by object.
func (f *fixture) patches() map[string]string {
	patches := map[string]string{}
	for _, action := range f.objects.Actions() {
		if patch, ok := action.(clienttesting.PatchAction); ok {
			patches[patch.GetResource().Resource+"/"+patch.GetName()] = string(patch.GetPatch())
		}
	}
	return patches
}

func TestAdopted(t *testing.T) {
	website := newWebsite(func(w *v1beta1.Website) { w.Spec.Hosts = []v1beta1.WebsiteHost{{Name: "www.example.com"}} })
	f := newFixture(t, []*v1beta1.Website{website},
		deployment(),
		restored("v1", "Service", "kubia-website-npsvc"),
		restored("v1", "ConfigMap", "kubia-website-agent"),
		restored("v1", "ConfigMap", "kubia-website-nginx-0123456789abcdef"),
		restored("policy/v1", "PodDisruptionBudget", "kubia-website"),
		restored("networking.k8s.io/v1", "Ingress", "kubia-website"),
		restored("gateway.networking.k8s.io/v1", "HTTPRoute", "kubia-website.1"),
		restored("gateway.networking.k8s.io/v1", "ListenerSet", "kubia-website"),
		// No child has such a name, and no Website this deployment name.
		restored("v1", "Service", "kubia-website"),
		restored("apps/v1", "Deployment", "another"),
	)
	want := []string{
		"configmaps/kubia-website-agent", "configmaps/kubia-website-nginx-0123456789abcdef", "deployments/kubia-website",
		"httproutes/kubia-website.1", "ingresses/kubia-website", "listenersets/kubia-website",
		"poddisruptionbudgets/kubia-website", "services/kubia-website-npsvc",
	}
	if err := f.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.patches(); len(got) > 0 || !strings.HasSuffix(f.out.String(), "8 to adopt, 0 refused\n") {
		t.Fatalf("the plan patches %v and prints\n%s", got, &f.out)
	}
	f.out.Reset()
	if err := f.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	patches := f.patches()
	var got []string
	for name := range patches {
		got = append(got, name)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("adopted %q, want %q", got, want)
	}
	wantPatch := `{"metadata":{"ownerReferences":[{"apiVersion":"mycontroller.nevermosby.io/v1beta1","kind":"Website",` +
		`"name":"kubia","uid":"uid-of-kubia","controller":true,"blockOwnerDeletion":true}],` +
		`"resourceVersion":"7","uid":"uid-of-kubia-website"}}`
	if got := patches["deployments/kubia-website"]; got != wantPatch {
		t.Errorf("the patch of the Deployment is\n%s, want\n%s", got, wantPatch)
	}
	if !strings.HasSuffix(f.out.String(), "8 adopted, 0 refused\n") {
		t.Errorf("printed\n%s", &f.out)
	}

	f.objects.ClearActions()
	f.out.Reset()
	if err := f.Run(t.Context()); err != nil || len(f.patches()) > 0 || f.out.String() != "0 adopted, 0 refused\n" {
		t.Errorf("a second run patches %v, returns %v and prints\n%s", f.patches(), err, &f.out)
	}
}

func TestRefusals(t *testing.T) {
	deleting := ptr.To(metav1.Now())
	isDeleting := func(website *v1beta1.Website) {
		website.DeletionTimestamp, website.Finalizers = deleting, []string{"x"}
	}
	for name, test := range map[string]struct {
		website *v1beta1.Website
		object  *metav1.PartialObjectMetadata
		// want is empty if the object is not listed.
		want string
	}{
		"its own": {newWebsite(),
			deployment(ownedBy(reference("mycontroller.nevermosby.io/v1beta1", "Website", "kubia", "uid-of-kubia"))), ""},
		"of an earlier Website of the same name": {newWebsite(),
			deployment(ownedBy(reference("mycontroller.nevermosby.io/v1beta1", "Website", "kubia", "earlier"))),
			`refused: it belongs to Website "kubia" with UID earlier`},
		"of another controller": {newWebsite(), deployment(ownedBy(reference("example.com/v1", "Shop", "corner", "uid"))),
			`refused: it belongs to Shop "corner"`},
		"without labels": {newWebsite(), deployment(withoutLabels),
			"refused: it lacks the labels app.kubernetes.io/managed-by=website-controller and controller=kubia"},
		"labels of another Website": {newWebsite(), deployment(labelled("other")),
			"refused: it lacks the labels app.kubernetes.io/managed-by=website-controller and controller=kubia"},
		"being deleted": {newWebsite(), deployment(func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = deleting }),
			"refused: it is being deleted"},
		"the Website is being deleted": {newWebsite(isDeleting), deployment(), "refused: the Website is being deleted"},
		"the Ingress of a user for a Website without hosts": {newWebsite(),
			restored("networking.k8s.io/v1", "Ingress", "kubia-website", withoutLabels), ""},
		"the Ingress of a user for a Website with hosts": {
			newWebsite(func(w *v1beta1.Website) { w.Spec.Hosts = []v1beta1.WebsiteHost{{Name: "www.example.com"}} }),
			restored("networking.k8s.io/v1", "Ingress", "kubia-website", withoutLabels),
			"refused: it lacks the labels app.kubernetes.io/managed-by=website-controller and controller=kubia"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, []*v1beta1.Website{test.website}, test.object)
			for _, command := range []func(context.Context) error{f.Plan, f.Run} {
				f.out.Reset()
				if err := command(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, isListed := f.out.String(), strings.Contains(f.out.String(), test.object.Name)
				if !strings.Contains(got, test.want) || isListed != (test.want != "") {
					t.Errorf("printed\n%s, want %q in it", got, test.want)
				}
			}
			if got := f.patches(); len(got) > 0 {
				t.Errorf("patched %v", got)
			}
		})
	}
}

// TestOtherOwnersStay: an owner reference that does not make the Website the controller is replaced,
// as two with one UID would be ambiguous.
func TestOtherOwnersStay(t *testing.T) {
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "uid-of-other"}
	own := reference("mycontroller.nevermosby.io/v1beta1", "Website", "kubia", "uid-of-kubia")
	own.Controller = nil
	f := newFixture(t, []*v1beta1.Website{newWebsite()}, deployment(ownedBy(own, other)))
	if err := f.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var patch metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(f.patches()["deployments/kubia-website"]), &patch); err != nil {
		t.Fatal(err)
	}
	owners := patch.OwnerReferences
	if len(owners) != 2 || owners[0] != other || !metav1.IsControlledBy(&patch, newWebsite()) {
		t.Errorf("owners %+v, want the other one and the Website as controller", owners)
	}
}

func TestSelection(t *testing.T) {
	second := newWebsite(func(w *v1beta1.Website) {
		w.Name, w.UID, w.Spec.DeploymentName = "second", "uid-of-second", "second"
	})
	elsewhere := newWebsite(func(w *v1beta1.Website) { w.Namespace = "elsewhere" })
	// Both Websites were created at the same time.
	rival := newWebsite(func(w *v1beta1.Website) { w.Name, w.UID = "a-rival", "uid-of-a-rival" })
	objects := []*metav1.PartialObjectMetadata{
		deployment(),
		deployment(func(o *metav1.PartialObjectMetadata) { o.Namespace = "elsewhere" }),
		restored("apps/v1", "Deployment", "second", labelled("second")),
	}
	for name, test := range map[string]struct {
		namespace string
		names     []string
		want      string
		wantError string
	}{
		"a namespace":         {"default", nil, "2 to adopt, 0 refused", ""},
		"another namespace":   {"elsewhere", nil, "1 to adopt, 0 refused", ""},
		"all namespaces":      {"", nil, "3 to adopt, 0 refused", ""},
		"a name":              {"default", []string{"kubia"}, "1 to adopt, 0 refused", ""},
		"names":               {"default", []string{"kubia", "second"}, "2 to adopt, 0 refused", ""},
		"a name of none":      {"default", []string{"kubia", "third"}, "", `there is no Website "third"`},
		"a name elsewhere":    {"elsewhere", []string{"second"}, "", `there is no Website "second"`},
		"the rival by itself": {"default", []string{"a-rival"}, "0 to adopt, 0 refused", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, []*v1beta1.Website{newWebsite(), second, elsewhere, rival}, objects...)
			f.Namespace, f.Names = test.namespace, test.names
			err := f.Plan(t.Context())
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Errorf("error %v, want %q", err, test.wantError)
				}
				return
			}
			if err != nil || !strings.HasSuffix(f.out.String(), test.want+"\n") {
				t.Errorf("error %v, printed\n%s, want %q", err, &f.out, test.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	gatewayAPI := schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}
	services := schema.GroupResource{Resource: "services"}
	refuse := func(err error) clienttesting.ReactionFunc {
		return func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err }
	}
	for name, test := range map[string]struct {
		given     func(f *fixture)
		wantError string
		want      string
	}{
		"no Gateway API": {func(f *fixture) {
			f.objects.PrependReactor("list", "httproutes", refuse(apierrors.NewNotFound(gatewayAPI, "")))
		}, "", "2 adopted, 0 refused"},
		"no permission to list": {func(f *fixture) {
			f.objects.PrependReactor("list", "httproutes", refuse(apierrors.NewForbidden(gatewayAPI, "", errors.New("no"))))
		}, "listing httproutes.gateway.networking.k8s.io: ", ""},
		"one has changed": {func(f *fixture) {
			f.objects.PrependReactor("patch", "services", refuse(apierrors.NewConflict(services, "x", errors.New("changed"))))
		}, `1 failed, run the command again: adopting Service "kubia-website-npsvc" in namespace "default": `,
			"1 adopted, 0 refused"},
		"the Website was created again": {func(f *fixture) {
			another := newWebsite(func(w *v1beta1.Website) { w.UID = "another" })
			f.websites.PrependReactor("get", "websites", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, another, nil
			})
		}, `the Website "kubia" was deleted meanwhile`, "0 adopted, 0 refused"},
		"the Website cannot be read": {func(f *fixture) {
			f.websites.PrependReactor("get", "websites", refuse(errors.New("closed")))
		}, `reading Website "kubia": closed`, "0 adopted, 0 refused"},
		"Websites cannot be listed": {func(f *fixture) {
			f.websites.PrependReactor("list", "websites", refuse(errors.New("closed")))
		}, "listing Websites: closed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, []*v1beta1.Website{newWebsite()}, deployment(), restored("v1", "Service", "kubia-website-npsvc"))
			test.given(f)
			err := f.Run(t.Context())
			if (err == nil) != (test.wantError == "") || err != nil && !strings.Contains(err.Error(), test.wantError) {
				t.Errorf("error %v, want %q", err, test.wantError)
			}
			if !strings.Contains(f.out.String(), test.want) {
				t.Errorf("printed\n%s, want %q", &f.out, test.want)
			}
		})
	}
}
