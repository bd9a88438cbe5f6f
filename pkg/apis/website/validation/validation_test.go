package validation

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// newWebsite returns a Website that is valid until tweaked.
func newWebsite(tweaks ...func(*website.Website)) *website.Website {
	w := &website.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default", ResourceVersion: "1"},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{
				Repository: "https://github.com/nevermosby/kubia-website-example.git", Submodules: v1beta1.SubmodulesNone,
				CredentialScope: v1beta1.CredentialScopeRepository,
			}},
			DeploymentName: "kubia-website",
			Replicas:       ptr.To[int32](1),
			Polling:        v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 60, TimeoutSeconds: 120},
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

func named(name string) func(*website.Website) { return func(w *website.Website) { w.Name = name } }
func deployment(name string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.DeploymentName = name }
}
func replicas(n int32) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Replicas = &n }
}
func repo(repo string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Git.Repository = repo }
}
func disk(size string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Storage.SizeLimit = ptr.To(resource.MustParse(size)) }
}
func secret(name string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: name} }
}
func submodules(policy v1beta1.SubmodulePolicy, scope v1beta1.CredentialScope) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Source.Git.Submodules, w.Spec.Source.Git.CredentialScope = policy, scope
	}
}

// checkErrors compares the whole text of the errors with want.
func checkErrors(t *testing.T, got field.ErrorList, want []string) {
	t.Helper()
	texts := []string{}
	for _, err := range got {
		texts = append(texts, err.Error())
	}
	if !slices.Equal(texts, want) {
		t.Errorf("errors:\ngot  %q\nwant %q", texts, want)
	}
}

func TestValidateWebsite(t *testing.T) {
	tests := map[string]struct {
		website *website.Website
		want    []string
	}{
		"the original example":      {website: newWebsite()},
		"no pods":                   {website: newWebsite(replicas(0))},
		"replicas left to defaults": {website: newWebsite(func(w *website.Website) { w.Spec.Replicas = nil })},
		"longest names": {
			website: newWebsite(named(strings.Repeat("a", 63)), deployment(strings.Repeat("a", 57))),
		},
		"a name that begins with a digit": {
			website: newWebsite(named("1kubia")),
		},

		"no name": {website: newWebsite(named("")),
			want: []string{"metadata.name: Required value: name or generateName is required"}},
		"name with dots": {website: newWebsite(named("a.b")),
			want: []string{`metadata.name: Invalid value: "a.b": must not contain dots`}},
		"name in upper case": {website: newWebsite(named("Kubia")),
			want: []string{`metadata.name: Invalid value: "Kubia": ` + utilvalidation.IsDNS1123Label("Kubia")[0]}},
		"name too long": {
			website: newWebsite(named(strings.Repeat("a", 64))),
			want: []string{
				`metadata.name: Invalid value: "` + strings.Repeat("a", 64) + `": must be no more than 63 characters`,
			},
		},
		"no namespace": {website: newWebsite(func(w *website.Website) { w.Namespace = "" }),
			want: []string{"metadata.namespace: Required value"}},
		"no deployment name": {website: newWebsite(deployment("")),
			want: []string{"spec.deploymentName: Required value: the name of the Deployment"}},
		"deployment with dot": {website: newWebsite(deployment("a.b")),
			want: []string{`spec.deploymentName: Invalid value: "a.b": ` + utilvalidation.IsDNS1035Label("a.b")[0]}},
		"deployment with a digit first": {
			website: newWebsite(deployment("1a")),
			want:    []string{`spec.deploymentName: Invalid value: "1a": ` + utilvalidation.IsDNS1035Label("1a")[0]},
		},
		"name with a digit first, for the deployment too": {
			website: newWebsite(deployment("2024-site"), func(w *website.Website) { w.Name = "2024-site" }),
			want: []string{`metadata.name: Invalid value: "2024-site": ` + utilvalidation.IsDNS1035Label("2024-site")[0] +
				"; set spec.deploymentName to another name to keep this one"},
		},
		"name with a digit first": {
			website: newWebsite(func(w *website.Website) { w.Name = "2024-site" }),
		},
		"annotation that only v1alpha1 has": {
			website: newWebsite(func(w *website.Website) {
				w.Annotations = map[string]string{website.AnnotationCarriedFields: "{}"}
			}),
			want: []string{"metadata.annotations[mycontroller.nevermosby.io/fields-of-other-versions]: Forbidden: only " +
				"supported in v1alpha1: set the fields that it contains instead"},
		},
		"everything missing": {
			website: &website.Website{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}},
			want:    []string{"spec.deploymentName: Required value: the name of the Deployment"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkErrors(t, ValidateWebsite(test.website), test.want)
		})
	}
}

// TestValidateWebsiteUpdate starts from an old Website that breaks every rule:
// unchanged values must not block a change of other fields.
func TestValidateWebsiteUpdate(t *testing.T) {
	stale := func(w *website.Website) {
		w.Annotations = map[string]string{website.AnnotationCarriedFields: "{}"}
		w.Spec = v1beta1.WebsiteSpec{
			DeploymentName: "Kubia",
			Source: v1beta1.WebsiteSource{
				Git: &v1beta1.GitSource{Repository: "-x", Ref: &v1beta1.GitReference{Branch: "-x"}}, Path: "../x",
			},
			Serving: v1beta1.WebsiteServing{
				Index: "-x", NotFoundPath: "x",
				Redirects: []v1beta1.Redirect{{From: "x", To: "$", StatusCode: 200}},
				Headers:   []v1beta1.ResponseHeader{{Path: "x", Name: "Connection", Value: "$"}},
			},
			Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP, NodePort: 30000},
			Resources: v1beta1.WebsiteResources{Server: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "x"}}},
				Sync: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "x"}}}},
			Scheduling: v1beta1.WebsiteScheduling{
				NodeSelector: map[string]string{"-": ""}, Tolerations: []corev1.Toleration{{}},
			},
		}
		w.Spec.Storage.SizeLimit = ptr.To(resource.MustParse("1"))
	}
	tests := map[string]struct {
		tweak func(*website.Website)
		want  []string
	}{
		"nothing changed":   {tweak: func(*website.Website) {}},
		"scaled":            {tweak: replicas(5)},
		"repository mended": {tweak: repo("https://example.com/other.git")},
		"repository made worse": {tweak: repo("-y"),
			want: []string{`spec.source.git.repository: Invalid value: "-y": must not begin with '-'`}},
		"repository removed": {tweak: repo(""), want: []string{"spec.source.git.repository: Required value: the git " +
			"repository to publish; must be an https://, http:// or ssh:// URL, or user@host:path"}},
		"branch made worse": {tweak: func(w *website.Website) {
			w.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "-y"}
		}, want: []string{`spec.source.git.ref.branch: Invalid value: "-y": must not begin with '-'`}},
		"path made worse": {tweak: func(w *website.Website) { w.Spec.Source.Path = "../y" },
			want: []string{`spec.source.path: Invalid value: "../y": must not contain the segment '.' or '..'`}},
		"deployment renamed": {tweak: deployment("other"),
			want: []string{`spec.deploymentName: Invalid value: "other": field is immutable`}},
		"deployment removed": {tweak: deployment(""),
			want: []string{"spec.deploymentName: Required value: the name of the Deployment"}},
		"index made worse": {tweak: func(w *website.Website) { w.Spec.Serving.Index = "-y" },
			want: []string{`spec.serving.index: Invalid value: "-y": must be the name of a file: letters, digits and the ` +
				`characters . _ -, not beginning with '.' or '-'`}},
		"not found made worse": {tweak: func(w *website.Website) { w.Spec.Serving.NotFoundPath = "y" },
			want: []string{`spec.serving.notFoundPath: Invalid value: "y": must begin with '/'`}},
		"good redirect added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Redirects = append(w.Spec.Serving.Redirects, v1beta1.Redirect{From: "/a", To: "/b", StatusCode: 301})
		}},
		"bad redirect added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Redirects = append(w.Spec.Serving.Redirects, v1beta1.Redirect{From: "y", To: "/b", StatusCode: 301})
		}, want: []string{`spec.serving.redirects[1].from: Invalid value: "y": must begin with '/'`}},
		"good header added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Headers = append(w.Spec.Serving.Headers, v1beta1.ResponseHeader{Path: "/", Name: "X", Value: "y"})
		}},
		"header that names the commit added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Headers = append(w.Spec.Serving.Headers,
				v1beta1.ResponseHeader{Path: "/", Name: "Website-Commit", Value: "y"})
		}, want: []string{`spec.serving.headers[1].name: Invalid value: "Website-Commit": must not be a connection header, ` +
			`or a header that nginx sets`}},
		"bad header added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Headers = append(w.Spec.Serving.Headers, v1beta1.ResponseHeader{Path: "/", Name: "TE", Value: "y"})
		}, want: []string{`spec.serving.headers[1].name: Invalid value: "TE": must not be a connection header, or a header ` +
			`that nginx sets`}},
		"service made worse": {tweak: func(w *website.Website) { w.Spec.Service.NodePort = 30001 },
			want: []string{"spec.service.nodePort: Forbidden: may only be set when the type is NodePort or LoadBalancer"}},
		"resources made worse": {tweak: func(w *website.Website) {
			w.Spec.Resources.Sync.Claims = []corev1.ResourceClaim{{Name: "y"}}
		}, want: []string{"spec.resources.sync.claims: Forbidden: resource claims are not supported"}},
		"disk made worse": {tweak: disk("2"),
			want: []string{`spec.storage.sizeLimit: Invalid value: "2": must be between 64Mi and 16Ti`}},
		"disk mended": {tweak: disk("64Mi")},
		"selector made worse": {tweak: func(w *website.Website) {
			w.Spec.Scheduling.NodeSelector = map[string]string{"--": ""}
		}, want: []string{`spec.scheduling.nodeSelector: Invalid value: "--": ` + utilvalidation.IsQualifiedName("--")[0]}},
		"tolerations made worse": {tweak: func(w *website.Website) {
			w.Spec.Scheduling.Tolerations = []corev1.Toleration{{}, {}}
		}, want: []string{`spec.scheduling.tolerations[0].operator: Invalid value: "": must be Exists when there is no key`,
			`spec.scheduling.tolerations[1].operator: Invalid value: "": must be Exists when there is no key`}},
		"annotation made worse": {tweak: func(w *website.Website) { w.Annotations[website.AnnotationCarriedFields] = "{} " },
			want: []string{"metadata.annotations[mycontroller.nevermosby.io/fields-of-other-versions]: Forbidden: only " +
				"supported in v1alpha1: set the fields that it contains instead"}},
		"annotation removed": {tweak: func(w *website.Website) { w.Annotations = nil }},
		"Website renamed": {tweak: named("other"),
			want: []string{`metadata.name: Invalid value: "other": field is immutable`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkErrors(t, ValidateWebsiteUpdate(newWebsite(stale, test.tweak), newWebsite(stale)), test.want)
		})
	}
}

func TestValidateWebsiteStatusUpdate(t *testing.T) {
	tests := map[string]struct {
		old, updated v1beta1.WebsiteStatus
		want         []string
	}{
		"a full status": {updated: v1beta1.WebsiteStatus{
			AvailableReplicas: 3, Selector: "app=website-nginx,controller=kubia", Commit: strings.Repeat("a", 40),
			URLs: []string{"http://10.0.0.1:30080"},
			Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Serving",
				LastTransitionTime: metav1.Now()}},
		}},
		"commit of SHA-256": {updated: v1beta1.WebsiteStatus{Commit: strings.Repeat("a", 64)}},
		"abbreviated commit": {updated: v1beta1.WebsiteStatus{Commit: "abc1234"}, want: []string{`status.commit: ` +
			`Invalid value: "abc1234": must be the full name of a commit: 40 or 64 hexadecimal digits in lower case`}},
		"selector with a slip": {updated: v1beta1.WebsiteStatus{Selector: "a in b"},
			want: []string{`status.selector: Invalid value: "a in b": unable to parse requirement: found 'b' expected: '('`}},
		"url of another scheme": {updated: v1beta1.WebsiteStatus{URLs: []string{"http://example.com", "ftp://example.com"}},
			want: []string{`status.urls[1]: Invalid value: "ftp://example.com": must be an https:// or http:// URL`}},
		"condition twice": {updated: v1beta1.WebsiteStatus{Conditions: []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Serving", LastTransitionTime: metav1.Now()},
			{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Broken", LastTransitionTime: metav1.Now()},
		}}, want: []string{`status.conditions[1]: Duplicate value: "Ready"`}},
		"condition without reason": {updated: v1beta1.WebsiteStatus{Conditions: []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now()},
		}}, want: []string{"status.conditions[0].reason: Required value"}},
		"unchanged mistakes stay": {
			old: v1beta1.WebsiteStatus{Commit: "x", Selector: "a in b", URLs: []string{"x"},
				Conditions: []metav1.Condition{{}}},
			updated: v1beta1.WebsiteStatus{Commit: "x", Selector: "a in b", URLs: []string{"x"},
				Conditions: []metav1.Condition{{}}, ReadyReplicas: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			old, updated := newWebsite(), newWebsite()
			old.Status, updated.Status = test.old, test.updated
			checkErrors(t, ValidateWebsiteStatusUpdate(updated, old), test.want)
		})
	}
}
