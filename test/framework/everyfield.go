package framework

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// EveryField returns Websites that together set every field of the spec, also those with defaults:
// the members of a union exclude each other. The first one needs a server that allows annotations
// of example.com.
func EveryField(namespace string) []*v1beta1.Website {
	commit := strings.Repeat("0a", 20)
	quantity := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}
	}
	users := func(name string) v1beta1.WebsiteAccess {
		return v1beta1.WebsiteAccess{BasicAuth: &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: name}}}
	}
	git := func(ref v1beta1.GitReference) *v1beta1.GitSource {
		return &v1beta1.GitSource{Repository: "https://git.example.com/team/site.git", Ref: &ref}
	}
	most := func(w *v1beta1.Website) {
		source := git(v1beta1.GitReference{Branch: "main"})
		source.Submodules, source.CredentialScope = v1beta1.SubmodulesRecursive, v1beta1.CredentialScopeHost
		source.SecretRef = &v1beta1.SecretReference{Name: "repository"}
		source.CARef = &v1beta1.CAReference{ConfigMapName: "ca", Key: "bundle.pem"}
		w.Spec = v1beta1.WebsiteSpec{
			DeploymentName: "site", Replicas: new(int32(2)), Suspend: new(false), Pin: &v1beta1.WebsitePin{Commit: commit},
			Source:  v1beta1.WebsiteSource{Git: source, Path: "public"},
			Polling: v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 30, TimeoutSeconds: 60},
			Serving: v1beta1.WebsiteServing{
				Index: "home.html", NotFoundPath: "/missing.html", Fallback: v1beta1.FallbackSPA,
				Redirects: []v1beta1.Redirect{
					{From: "/old", To: "/new", StatusCode: 301},
					{From: "/blog/*", To: "https://blog.example.com/:splat", StatusCode: 308},
				},
				Headers: []v1beta1.ResponseHeader{
					{Path: "/*", Name: "X-A", Value: "a"}, {Path: "/*", Name: "X-B", Value: "b"},
				},
				Types: []v1beta1.ContentType{
					{Path: "/feed", Type: "application/rss+xml"}, {Extension: "dat", Type: "text/plain; charset=utf-8"},
				},
				Charset: "windows-1252",
			},
			Service: v1beta1.WebsiteService{
				Type: v1beta1.ServiceTypeLoadBalancer, NodePort: 31999, LoadBalancerClass: "example.com/class",
				Annotations: map[string]string{"example.com/a": "b"},
			},
			Resources: v1beta1.WebsiteResources{
				Server: corev1.ResourceRequirements{Requests: quantity("10m", "32Mi"), Limits: quantity("1", "64Mi")},
				Sync:   corev1.ResourceRequirements{Requests: quantity("20m", "64Mi"), Limits: quantity("2", "256Mi")},
			},
			Storage: v1beta1.WebsiteStorage{SizeLimit: new(resource.MustParse("2Gi"))},
			Scheduling: v1beta1.WebsiteScheduling{
				NodeSelector: map[string]string{"kubernetes.io/os": "linux"},
				Tolerations: []corev1.Toleration{{
					Key: "sites", Operator: corev1.TolerationOpEqual, Value: "only",
					Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(60)),
				}},
			},
			Hosts: []v1beta1.WebsiteHost{
				{Name: "www.every.example.test", Role: v1beta1.HostRoleCanonical},
				{Name: "every.example.test", Role: v1beta1.HostRoleRedirect},
			},
			Routing: v1beta1.WebsiteRouting{
				ParentRefs: []v1beta1.ParentReference{{Namespace: "gateways", Name: "public"}},
			},
			TLS: &v1beta1.WebsiteTLS{
				Mode: v1beta1.TLSModeIssuer, Redirect: new(false),
				IssuerRef: &v1beta1.IssuerReference{Group: "cert-manager.io", Kind: "ClusterIssuer", Name: "ca"},
			},
			Access: users("readers"),
			Previews: &v1beta1.WebsitePreviews{
				Branches: []string{"feature/*", "next"}, MaxCount: 3, TTLSeconds: new(int32(86400)),
				Domain: "every.example.test", Access: users("reviewers"),
			},
		}
	}
	secrets := func(w *v1beta1.Website) {
		w.Spec.Source.Git = git(v1beta1.GitReference{Tag: "v1"})
		w.Spec.Source.Git.CARef = &v1beta1.CAReference{SecretName: "ca", Key: "ca.crt"}
		w.Spec.Hosts = []v1beta1.WebsiteHost{{Name: "secrets.example.test", Role: v1beta1.HostRoleAlias}}
		w.Spec.Routing.IngressClassName = "nginx"
		w.Spec.TLS = &v1beta1.WebsiteTLS{
			Mode: v1beta1.TLSModeSecret, SecretRef: &v1beta1.SecretReference{Name: "certificate"}, Redirect: new(true),
		}
	}
	listener := func(w *v1beta1.Website) {
		w.Spec.Source.Git = git(v1beta1.GitReference{Commit: commit})
		w.Spec.Hosts = []v1beta1.WebsiteHost{{Name: "listener.example.test", Role: v1beta1.HostRoleAlias}}
		w.Spec.Routing.ParentRefs = []v1beta1.ParentReference{{Namespace: namespace, Name: "edge", SectionName: "https"}}
	}
	named := func(w *v1beta1.Website) {
		w.Spec.Source.Git = git(v1beta1.GitReference{Name: "refs/pull/1/head"})
		w.Spec.Suspend, w.Spec.Pin = new(true), &v1beta1.WebsitePin{Commit: commit, Cause: v1beta1.PinCauseSuspend}
	}
	return []*v1beta1.Website{
		NewWebsite(namespace, "most", most), NewWebsite(namespace, "secrets", secrets),
		NewWebsite(namespace, "listener", listener), NewWebsite(namespace, "named", named),
	}
}

// UnsetFields returns the paths of the fields of the spec of v1beta1 that no Website sets.
func UnsetFields(websites []*v1beta1.Website) []string {
	set := map[string]bool{}
	for _, w := range websites {
		setFields(reflect.ValueOf(w.Spec), "spec", set)
	}
	var unset []string
	for _, path := range fieldsOf(reflect.TypeFor[v1beta1.WebsiteSpec](), "spec") {
		if !set[path] {
			unset = append(unset, path)
		}
	}
	return unset
}

// ownPackage has the types whose fields are walked; a field of another type, such as a quantity, is one field.
var ownPackage = reflect.TypeFor[v1beta1.Website]().PkgPath()

// fieldsOf returns the paths of the fields below a type, without the indexes of lists.
func fieldsOf(typ reflect.Type, path string) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	var paths []string
	if typ.Kind() == reflect.Struct && typ.PkgPath() == ownPackage {
		for field := range typ.Fields() {
			at := path + "." + jsonName(field)
			paths = slices.Concat(paths, []string{at}, fieldsOf(field.Type, at))
		}
	}
	return paths
}

// setFields adds the paths below a value at which there is a value.
func setFields(value reflect.Value, path string, set map[string]bool) {
	switch {
	case value.IsZero():
		return
	case value.Kind() == reflect.Pointer:
		setFields(value.Elem(), path, set)
	case value.Kind() == reflect.Slice:
		for i := range value.Len() {
			setFields(value.Index(i), path, set)
		}
	case value.Kind() == reflect.Struct && value.Type().PkgPath() == ownPackage:
		for i := range value.NumField() {
			at := path + "." + jsonName(value.Type().Field(i))
			set[at] = set[at] || !value.Field(i).IsZero()
			setFields(value.Field(i), at, set)
		}
	}
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
