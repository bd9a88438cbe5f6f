package v1alpha1_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// newWebsite returns the original example, changed by tweaks.
func newWebsite(tweaks ...func(*v1alpha1.Website)) *v1alpha1.Website {
	w := &v1alpha1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default"},
		Spec: v1alpha1.WebsiteSpec{
			GitRepo:        "https://github.com/nevermosby/kubia-website-example.git",
			DeploymentName: "kubia-website",
			Replicas:       ptr.To[int32](1),
		},
	}
	for _, tweak := range tweaks {
		tweak(w)
	}
	return w
}

func carrying(value string) func(*v1alpha1.Website) {
	return func(w *v1alpha1.Website) {
		w.Annotations = map[string]string{website.AnnotationCarriedFields: value}
	}
}

// newBeta returns the original example in v1beta1.
func newBeta(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	w := &v1beta1.Website{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "Website"},
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default"},
		Spec: v1beta1.WebsiteSpec{
			DeploymentName: "kubia-website",
			Replicas:       ptr.To[int32](1),
			Source: v1beta1.WebsiteSource{
				Git: &v1beta1.GitSource{Repository: "https://github.com/nevermosby/kubia-website-example.git",
					Submodules: v1beta1.SubmodulesNone, CredentialScope: v1beta1.CredentialScopeRepository},
			},
			Polling: v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 60, TimeoutSeconds: 120},
			Serving: v1beta1.WebsiteServing{Index: "index.html", NotFoundPath: "/404.html", Charset: "UTF-8",
				Fallback: v1beta1.FallbackNone},
			Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
		},
	}
	for _, tweak := range tweaks {
		tweak(w)
	}
	return w
}

// convert converts through the internal version, as the server does.
func convert(t *testing.T, in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	t.Helper()
	scheme := newScheme(t)
	hub, err := scheme.ConvertToVersion(in, website.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return scheme.ConvertToVersion(hub, to)
}

func TestV1alpha1ReadAsV1beta1(t *testing.T) {
	tests := map[string]struct {
		in   *v1alpha1.Website
		want *v1beta1.Website
	}{
		"the defaults of v1beta1 are filled in": {in: newWebsite(), want: newBeta()},
		"no replicas": {
			in:   newWebsite(func(w *v1alpha1.Website) { w.Spec.Replicas = ptr.To[int32](0) }),
			want: newBeta(func(w *v1beta1.Website) { w.Spec.Replicas = ptr.To[int32](0) }),
		},
		"replicas unset": {
			in:   newWebsite(func(w *v1alpha1.Website) { w.Spec.Replicas = nil }),
			want: newBeta(func(w *v1beta1.Website) { w.Spec.Replicas = nil }),
		},
		"other annotations stay": {
			in:   newWebsite(func(w *v1alpha1.Website) { w.Annotations = map[string]string{"note": "x"} }),
			want: newBeta(func(w *v1beta1.Website) { w.Annotations = map[string]string{"note": "x"} }),
		},
		"fields are unpacked, the annotation goes": {
			in: newWebsite(carrying(`{"spec":{"suspend":true,"polling":{"periodSeconds":300,"timeoutSeconds":30}},`+
				`"status":{"commit":"abc"}}`),
				func(w *v1alpha1.Website) { w.Status.AvailableReplicas = 2 }),
			want: newBeta(func(w *v1beta1.Website) {
				w.Spec.Suspend = new(true)
				w.Spec.Polling = v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 300, TimeoutSeconds: 30}
				w.Status = v1beta1.WebsiteStatus{Commit: "abc", AvailableReplicas: 2}
			}),
		},
		"an annotation without content": {
			in:   newWebsite(carrying(` {"spec": {}} `)),
			want: newBeta(func(w *v1beta1.Website) { w.Annotations = map[string]string{website.AnnotationCarriedFields: "{}"} }),
		},
		"defaults within source": {
			in:   newWebsite(carrying(`{"spec":{"source":{"path":"public"}}}`)),
			want: newBeta(func(w *v1beta1.Website) { w.Spec.Source.Path = "public" }),
		},
		"defaults within sync": {
			in:   newWebsite(carrying(`{"spec":{"polling":{"periodSeconds":300}}}`)),
			want: newBeta(func(w *v1beta1.Website) { w.Spec.Polling.PeriodSeconds = 300 }),
		},
		"defaults within serving": {
			in: newWebsite(carrying(`{"spec":{"serving":{"redirects":[{"from":"/a","to":"/b"}],"headers":[{"path":"/",` +
				`"name":"X-A","value":"b"}]}}}`)),
			want: newBeta(func(w *v1beta1.Website) {
				w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/a", To: "/b", StatusCode: 301}}
				w.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Path: "/", Name: "X-A", Value: "b"}}
			}),
		},
		"defaults within service": {
			in:   newWebsite(carrying(`{"spec":{"service":{"nodePort":30080}}}`)),
			want: newBeta(func(w *v1beta1.Website) { w.Spec.Service.NodePort = 30080 }),
		},
		"fields of v1alpha1 get no default": {
			in: newWebsite(carrying(`{"spec":{"suspend":true}}`), func(w *v1alpha1.Website) {
				w.Spec.DeploymentName, w.Spec.Replicas = "", nil
			}),
			want: newBeta(func(w *v1beta1.Website) {
				w.Spec.DeploymentName, w.Spec.Replicas, w.Spec.Suspend = "", nil, new(true)
			}),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := convert(t, test.in, v1beta1.SchemeGroupVersion)
			if err != nil {
				t.Fatal(err)
			}
			if !apiequality.Semantic.DeepEqual(got, test.want) {
				t.Errorf("read as v1beta1 (- got, + want):\n%s", diff.Diff(got, test.want))
			}
		})
	}
}

func TestV1beta1ReadAsV1alpha1(t *testing.T) {
	tests := map[string]struct {
		in   *v1beta1.Website
		want string
	}{
		"nothing to carry": {in: newBeta()},
		"available replicas are in both": {
			in: newBeta(func(w *v1beta1.Website) { w.Status.AvailableReplicas = 1 }),
		},
		"the default of v1beta1 for the Service": {
			in:   newBeta(func(w *v1beta1.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeClusterIP }),
			want: `{"spec":{"service":{"type":"ClusterIP"}}}`,
		},
		"hosts with a node port": {
			in: newBeta(func(w *v1beta1.Website) {
				w.Spec.Hosts = []v1beta1.WebsiteHost{{Name: "shop.example.com", Role: v1beta1.HostRoleAlias}}
			}),
			want: `{"spec":{"hosts":[{"name":"shop.example.com","role":"Alias"}]}}`,
		},
		"not suspended": {
			in:   newBeta(func(w *v1beta1.Website) { w.Spec.Suspend = new(false) }),
			want: `{"spec":{"suspend":false}}`,
		},
		"suspended": {
			in:   newBeta(func(w *v1beta1.Website) { w.Spec.Suspend = new(true) }),
			want: `{"spec":{"suspend":true}}`,
		},
		"a branch": {
			in:   newBeta(func(w *v1beta1.Website) { w.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "main"} }),
			want: `{"spec":{"source":{"git":{"ref":{"branch":"main"}}}}}`,
		},
		"defaults beside other values": {
			in: newBeta(func(w *v1beta1.Website) {
				w.Spec.Source.Git.Submodules, w.Spec.Polling.PeriodSeconds, w.Spec.Serving.Fallback = v1beta1.SubmodulesShallow, 30,
					v1beta1.FallbackSPA
			}),
			want: `{"spec":{"source":{"git":{"submodules":"Shallow"}},"polling":{"periodSeconds":30},` +
				`"serving":{"fallback":"SPA"}}}`,
		},
		"status": {
			in: newBeta(func(w *v1beta1.Website) {
				w.Status = v1beta1.WebsiteStatus{ObservedGeneration: 3, AvailableReplicas: 1}
			}),
			want: `{"status":{"observedGeneration":3}}`,
		},
		"an annotation that was put there is not taken for ours": {
			in: newBeta(func(w *v1beta1.Website) {
				w.Annotations = map[string]string{website.AnnotationCarriedFields: `{"spec":{"suspend":true}}`}
			}),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			scheme := newScheme(t)
			hub, err := scheme.ConvertToVersion(test.in, website.SchemeGroupVersion)
			if err != nil {
				t.Fatal(err)
			}
			got, err := scheme.ConvertToVersion(hub, v1alpha1.SchemeGroupVersion)
			if err != nil {
				t.Fatal(err)
			}
			value, present := got.(*v1alpha1.Website).Annotations[website.AnnotationCarriedFields]
			if value != test.want || present != (test.want != "") {
				t.Errorf("annotation = %q (present %t), want %q", value, present, test.want)
			}
		})
	}
}

// TestUnreadableAnnotation: it is converted unchanged and with the defaults, so
// that validation can report it.
func TestUnreadableAnnotation(t *testing.T) {
	tests := map[string]struct{ value, want string }{
		"null":       {value: ` null`, want: "must be an object"},
		"not JSON":   {value: `{"spec":`, want: "unexpected end of JSON input"},
		"wrong type": {value: `{"spec":{"suspend":"yes"}}`, want: "cannot unmarshal string"},
		"a status of v1alpha1": {value: `{"status":{"availableReplicas":3}}`,
			want: `"status.availableReplicas" belongs in the status itself`},
		"something after the end": {value: `{} {}`, want: "invalid character"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := v1alpha1.ReadAnnotation(test.value); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
			got, err := convert(t, newWebsite(carrying(test.value)), v1beta1.SchemeGroupVersion)
			if err != nil {
				t.Fatal(err)
			}
			want := newBeta(func(w *v1beta1.Website) {
				w.Annotations = map[string]string{website.AnnotationCarriedFields: test.value}
			})
			if !apiequality.Semantic.DeepEqual(got, want) {
				t.Errorf("read as v1beta1 (- got, + want):\n%s", diff.Diff(got, want))
			}
			requireKept(t, got, test.value)
		})
	}
}

// TestIgnoredMembers: members of a later version of the server, or mistakes, are not set, and stay known until
// the strategy handles them. The other members are set.
func TestIgnoredMembers(t *testing.T) {
	suspended := func(w *v1beta1.Website) { w.Spec.Suspend = new(true) }
	tests := map[string]struct {
		value   string
		set     func(*v1beta1.Website)
		ignored string
		back    string
	}{
		"unknown field": {
			value: `{"spec":{"suspended":true}}`, set: func(*v1beta1.Website) {},
			ignored: `{"ignored":["unknown field \"spec.suspended\""]}`,
			back:    `{"ignored":["unknown field \"spec.suspended\""]}`,
		},
		"unknown field beside another": {
			value: `{"spec":{"suspend":true,"archive":{"secretRef":{"name":"s"}}},"later":{}}`, set: suspended,
			ignored: `{"ignored":["unknown field \"spec.archive\"","unknown field \"later\""]}`,
			back:    `{"spec":{"suspend":true},"ignored":["unknown field \"spec.archive\"","unknown field \"later\""]}`,
		},
		"field given twice": {
			value: `{"spec":{"suspend":false,"suspend":true}}`, set: suspended,
			ignored: `{"ignored":["duplicate field \"spec.suspend\""]}`,
			back:    `{"spec":{"suspend":true},"ignored":["duplicate field \"spec.suspend\""]}`,
		},
		"a field of v1alpha1": {
			value: `{"spec":{"replicas":3}}`, set: func(*v1beta1.Website) {},
			ignored: `{"ignored":["unknown field \"spec.replicas\""]}`, back: `{"ignored":["unknown field \"spec.replicas\""]}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := convert(t, newWebsite(carrying(test.value)), v1beta1.SchemeGroupVersion)
			if err != nil {
				t.Fatal(err)
			}
			want := newBeta(test.set, func(w *v1beta1.Website) {
				w.Annotations = map[string]string{website.AnnotationCarriedFields: test.ignored}
			})
			if !apiequality.Semantic.DeepEqual(got, want) {
				t.Errorf("read as v1beta1 (- got, + want):\n%s", diff.Diff(got, want))
			}
			requireKept(t, got, test.back)
		})
	}
}

// TestEmptyAnnotation: it is kept, as an absent one has another meaning.
func TestEmptyAnnotation(t *testing.T) {
	got, err := convert(t, newWebsite(carrying("{}")), v1beta1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	requireKept(t, got, "{}")
}

// requireKept checks that a Website that was read from v1alpha1 has its annotation when it is converted back, as the
// API server does for server-side apply and for webhooks.
func requireKept(t *testing.T, read runtime.Object, want string) {
	t.Helper()
	back, err := convert(t, read, v1alpha1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.(*v1alpha1.Website).Annotations[website.AnnotationCarriedFields]; got != want {
		t.Errorf("converted back, the annotation is %q, want %q", got, want)
	}
}

// TestAnnotationsReplacedByAWebhook: the fields that v1alpha1 lacks are taken from the request.
func TestAnnotationsReplacedByAWebhook(t *testing.T) {
	scheme := newScheme(t)
	hub := &website.Website{}
	request := newBeta(func(w *v1beta1.Website) {
		w.Spec.Suspend, w.Spec.Source.Path, w.Status.Commit = new(true), "public", strings.Repeat("a", 40)
	})
	if err := scheme.Convert(request, hub, nil); err != nil {
		t.Fatal(err)
	}
	seen := &v1alpha1.Website{}
	if err := scheme.Convert(hub, seen, nil); err != nil {
		t.Fatal(err)
	}
	seen.Annotations = map[string]string{"team": "web"}
	seen.Spec.GitRepo = "https://example.com/mirror.git"
	if err := scheme.Convert(seen, hub, nil); err != nil {
		t.Fatal(err)
	}
	got := &v1beta1.Website{}
	if err := scheme.Convert(hub, got, nil); err != nil {
		t.Fatal(err)
	}
	want := request.DeepCopy()
	want.TypeMeta = metav1.TypeMeta{}
	want.Annotations, want.Spec.Source.Git.Repository = map[string]string{"team": "web"}, "https://example.com/mirror.git"
	if !apiequality.Semantic.DeepEqual(got, want) {
		t.Errorf("after the webhook (- got, + want):\n%s", diff.Diff(got, want))
	}
}

// TestReadModifyWriteThroughV1alpha1 changes the fields of an old client; all
// others must be kept.
func TestReadModifyWriteThroughV1alpha1(t *testing.T) {
	before := newBeta(func(w *v1beta1.Website) {
		w.Annotations = map[string]string{"note": "x"}
		w.Spec.Source.Path = "public"
		w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/a", To: "/b", StatusCode: 302}}
		w.Status = v1beta1.WebsiteStatus{ObservedGeneration: 2, ReadyReplicas: 1, AvailableReplicas: 1,
			Commit: strings.Repeat("a", 40), URLs: []string{"http://example.com"},
			Conditions: []metav1.Condition{{Type: v1beta1.WebsiteReady, Status: metav1.ConditionTrue, Reason: "Serving"}}}
	})
	read, err := convert(t, before, v1alpha1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	old := read.(*v1alpha1.Website)
	old.Spec.GitRepo = "https://example.com/other.git"
	old.Spec.Replicas = ptr.To[int32](4)
	old.Status.AvailableReplicas = 0

	after, err := convert(t, old, v1beta1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	want := before.DeepCopy()
	want.Spec.Source.Git.Repository = "https://example.com/other.git"
	want.Spec.Replicas = ptr.To[int32](4)
	want.Status.AvailableReplicas = 0
	if !apiequality.Semantic.DeepEqual(after, want) {
		t.Errorf("after a write through v1alpha1 (- got, + want):\n%s", diff.Diff(after, want))
	}
}

// These are stored forms of the original example by servers without v1beta1.
const (
	storedJSON = `{"kind":"Website","apiVersion":"mycontroller.nevermosby.io/v1alpha1","metadata":{"name":"kubia",` +
		`"namespace":"default"},"spec":{"gitRepo":"https://github.com/nevermosby/kubia-website-example.git",` +
		`"deploymentName":"kubia-website","replicas":1},"status":{"availableReplicas":0}}`
	storedProtobuf = "azhzAAouCiNteWNvbnRyb2xsZXIubmV2ZXJtb3NieS5pby92MWFscGhhMRIHV2Vic2l0ZRJuChwKBWt1YmlhEgAaB2" +
		"RlZmF1bHQiACoAMgA4AEIAEkoKN2h0dHBzOi8vZ2l0aHViLmNvbS9uZXZlcm1vc2J5L2t1YmlhLXdlYnNpdGUtZXhh" +
		"bXBsZS5naXQSDWt1YmlhLXdlYnNpdGUYARoCCAAaACIA"
)

// TestStoredAsV1alpha1 decodes Websites from the etcds of older installations.
func TestStoredAsV1alpha1(t *testing.T) {
	protobuf, err := base64.StdEncoding.DecodeString(storedProtobuf)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"JSON": []byte(storedJSON), "protobuf": protobuf} {
		t.Run(name, func(t *testing.T) {
			scheme := newScheme(t)
			decoder := serializer.NewCodecFactory(scheme).UniversalDecoder(website.SchemeGroupVersion)
			hub, err := runtime.Decode(decoder, data)
			if err != nil {
				t.Fatal(err)
			}
			got, err := scheme.ConvertToVersion(hub, v1beta1.SchemeGroupVersion)
			if err != nil {
				t.Fatal(err)
			}
			if want := newBeta(); !apiequality.Semantic.DeepEqual(got, want) {
				t.Errorf("read as v1beta1 (- got, + want):\n%s", diff.Diff(got, want))
			}
		})
	}
}

// TestFrozen fails when the JSON or protobuf form of v1alpha1 changes.
func TestFrozen(t *testing.T) {
	w := newWebsite()
	w.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("Website"))
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != storedJSON {
		t.Errorf("JSON = %s\nwant %s", data, storedJSON)
	}
	info, _ := runtime.SerializerInfoForMediaType(serializer.NewCodecFactory(newScheme(t)).SupportedMediaTypes(),
		runtime.ContentTypeProtobuf)
	data, err = runtime.Encode(info.Serializer, w)
	if err != nil {
		t.Fatal(err)
	}
	if got := base64.StdEncoding.EncodeToString(data); got != storedProtobuf {
		t.Errorf("protobuf = %s\nwant %s", got, storedProtobuf)
	}
}

func TestDeprecation(t *testing.T) {
	major, minor := (&v1alpha1.Website{}).APILifecycleDeprecated()
	if major == 0 && minor == 0 {
		t.Error("a release of 0.0 means that the version is not deprecated")
	}
	if got := (&v1alpha1.Website{}).APILifecycleReplacement(); got != v1beta1.SchemeGroupVersion.WithKind("Website") {
		t.Errorf("replacement = %s, want Website of v1beta1", got)
	}
}

func TestFieldSelectors(t *testing.T) {
	scheme := newScheme(t)
	tests := map[string]struct {
		kind, label string
		want        string
	}{
		"name in v1alpha1":           {kind: "v1alpha1", label: "metadata.name", want: "metadata.name"},
		"repository in v1alpha1":     {kind: "v1alpha1", label: "spec.gitRepo", want: "spec.source.git.repository"},
		"deployment in v1alpha1":     {kind: "v1alpha1", label: "spec.deploymentName", want: "spec.deploymentName"},
		"v1beta1's name in v1alpha1": {kind: "v1alpha1", label: "spec.source.git.repository"},
		"namespace in v1beta1":       {kind: "v1beta1", label: "metadata.namespace", want: "metadata.namespace"},
		"repository in v1beta1": {kind: "v1beta1", label: "spec.source.git.repository",
			want: "spec.source.git.repository"},
		"deployment in v1beta1":      {kind: "v1beta1", label: "spec.deploymentName", want: "spec.deploymentName"},
		"v1alpha1's name in v1beta1": {kind: "v1beta1", label: "spec.gitRepo"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gvk := v1alpha1.SchemeGroupVersion.WithKind("Website")
			gvk.Version = test.kind
			got, value, err := scheme.ConvertFieldLabel(gvk, test.label, "x")
			if test.want == "" {
				if err == nil || !strings.Contains(err.Error(), "field label not supported: "+test.label) {
					t.Errorf("error = %v, want %q refused", err, test.label)
				}
				return
			}
			if err != nil || got != test.want || value != "x" {
				t.Errorf("converted to %q, %q (%v), want %q", got, value, err, test.want)
			}
		})
	}
}
