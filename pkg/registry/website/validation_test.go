package website

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// requestContext is that of a request to a version of websites.
func requestContext(version, subresource string) context.Context {
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), "default")
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		APIGroup: website.GroupName, APIVersion: version, Resource: "websites", Subresource: subresource,
	})
}

// causes returns what the client reads of an error: "path: message" for each
// mistake.
func causes(err error) []string {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil {
		return nil
	}
	var causes []string
	for _, cause := range status.Status().Details.Causes {
		causes = append(causes, cause.Field+": "+cause.Message)
	}
	return causes
}

// checkCauses compares the errors with want, which holds "path: part of the
// message" for each.
func checkCauses(t *testing.T, err error, want []string) {
	t.Helper()
	got := causes(err)
	if len(got) != len(want) {
		t.Fatalf("got %d errors, want %d:\ngot  %q (%v)\nwant %q", len(got), len(want), got, err, want)
	}
	for i := range got {
		path, message, _ := strings.Cut(want[i], ": ")
		if gotPath, gotMessage, _ := strings.Cut(got[i], ": "); gotPath != path || !strings.Contains(gotMessage, message) {
			t.Errorf("error %d = %s, want %s", i, got[i], want[i])
		}
	}
}

func repository(r string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Repository = r }
}
func ref(r website.GitReference) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Ref = &r }
}
func path(p string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Path = p }
}
func serving(tweak func(*website.WebsiteServing)) func(*website.Website) {
	return func(w *website.Website) { tweak(&w.Spec.Serving) }
}
func redirect(from, to string, code int32) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Serving.Redirects = append(w.Spec.Serving.Redirects, website.Redirect{From: from, To: to, Code: code})
	}
}
func header(path, name, value string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Serving.Headers = append(w.Spec.Serving.Headers, website.ResponseHeader{Path: path, Name: name, Value: value})
	}
}
func server(limits, requests string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Resources.Server = memory(limits, requests) }
}
func memory(limit, request string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)},
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(request)},
	}
}
func tolerating(toleration corev1.Toleration) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Scheduling.Tolerations = []corev1.Toleration{toleration} }
}

// specCases has, for every field of the spec, what is accepted and what is
// refused with which words; field names the one that an accepting case is about.
var specCases = map[string]struct {
	tweak func(*website.Website)
	field string
	want  []string
}{
	"as it is":             {tweak: func(*website.Website) {}, field: "spec.deploymentName"},
	"deployment at length": {tweak: func(w *website.Website) { w.Spec.DeploymentName = strings.Repeat("a", 57) }, field: "spec.deploymentName"},
	"deployment too long":  {tweak: func(w *website.Website) { w.Spec.DeploymentName = strings.Repeat("a", 58) }, want: []string{"spec.deploymentName: Too long: may not be more than 57"}},
	"deployment no label":  {tweak: func(w *website.Website) { w.Spec.DeploymentName = "a.b" }, want: []string{"spec.deploymentName: a DNS-1035 label must consist of"}},
	"no pods":              {tweak: func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](0) }, field: "spec.replicas"},
	"negative replicas":    {tweak: func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](-1) }, want: []string{"spec.replicas: Invalid value: -1: must be greater than or equal to 0"}},
	"not suspended":        {tweak: func(w *website.Website) { w.Spec.Suspend = false }, field: "spec.suspend"},
	"suspended":            {tweak: func(w *website.Website) { w.Spec.Suspend = true }, field: "spec.suspend"},

	"no repository":       {tweak: repository(""), want: []string{"spec.source.repository: Required value: the git repository to publish"}},
	"option":              {tweak: repository("--upload-pack=x"), want: []string{`spec.source.repository: Invalid value: "--upload-pack=x": must not begin with '-'`}},
	"repository too long": {tweak: repository("https://example.com/" + strings.Repeat("a", 2048)), want: []string{"spec.source.repository: Too long: may not be more than 2048"}},

	"branch":                {tweak: ref(website.GitReference{Branch: "feature/a-b_c.d"}), field: "spec.source.ref.branch"},
	"branch of option":      {tweak: ref(website.GitReference{Branch: "-x"}), want: []string{"spec.source.ref.branch: must not begin with '-'"}},
	"branch with space":     {tweak: ref(website.GitReference{Branch: "a b"}), want: []string{"spec.source.ref.branch: must consist of letters"}},
	"branch with revision":  {tweak: ref(website.GitReference{Branch: "main~1"}), want: []string{"spec.source.ref.branch: must consist of letters"}},
	"branch with reflog":    {tweak: ref(website.GitReference{Branch: "main@{1}"}), want: []string{"spec.source.ref.branch: must consist of letters"}},
	"branch @":              {tweak: ref(website.GitReference{Branch: "@"}), want: []string{"spec.source.ref.branch: must not be '@'"}},
	"branch with range":     {tweak: ref(website.GitReference{Branch: "a..b"}), want: []string{"spec.source.ref.branch: must not contain '..'"}},
	"branch with slashes":   {tweak: ref(website.GitReference{Branch: "a//b"}), want: []string{"spec.source.ref.branch: must not begin or end with '/', or contain '//'"}},
	"branch ending in /":    {tweak: ref(website.GitReference{Branch: "a/"}), want: []string{"spec.source.ref.branch: must not begin or end with '/'"}},
	"branch ending in .":    {tweak: ref(website.GitReference{Branch: "a."}), want: []string{"spec.source.ref.branch: must not end with '.'"}},
	"branch with hidden":    {tweak: ref(website.GitReference{Branch: "a/.b"}), want: []string{"spec.source.ref.branch: no part between slashes may begin with '.'"}},
	"branch with lock":      {tweak: ref(website.GitReference{Branch: "a.lock/b"}), want: []string{"spec.source.ref.branch: or end with '.lock'"}},
	"branch too long":       {tweak: ref(website.GitReference{Branch: strings.Repeat("a", 256)}), want: []string{"spec.source.ref.branch: may not be more than 255"}},
	"tag":                   {tweak: ref(website.GitReference{Tag: "v1.0.0+build"}), field: "spec.source.ref.tag"},
	"tag of option":         {tweak: ref(website.GitReference{Tag: "-x"}), want: []string{"spec.source.ref.tag: must not begin with '-'"}},
	"commit":                {tweak: ref(website.GitReference{Commit: strings.Repeat("0a", 20)}), field: "spec.source.ref.commit"},
	"commit of SHA-256":     {tweak: ref(website.GitReference{Commit: strings.Repeat("0a", 32)}), field: "spec.source.ref.commit"},
	"abbreviated commit":    {tweak: ref(website.GitReference{Commit: "0a0a0a0"}), want: []string{"spec.source.ref.commit: must be the full name of a commit"}},
	"commit in upper case":  {tweak: ref(website.GitReference{Commit: strings.Repeat("0A", 20)}), want: []string{"spec.source.ref.commit: in lower case"}},
	"full name":             {tweak: ref(website.GitReference{Name: "refs/pull/1/head"}), field: "spec.source.ref.name"},
	"name of no kind":       {tweak: ref(website.GitReference{Name: "main"}), want: []string{`spec.source.ref.name: must begin with "refs/"`}},
	"name with nothing":     {tweak: ref(website.GitReference{Name: "refs/"}), want: []string{"spec.source.ref.name: must not begin or end with '/'"}},
	"no choice":             {tweak: ref(website.GitReference{}), field: "spec.source.ref"},
	"two choices":           {tweak: ref(website.GitReference{Branch: "main", Tag: "v1"}), want: []string{"spec.source.ref: must specify at most one of: `branch`, `tag`, `commit`, `name`"}},
	"path":                  {tweak: path("docs/_site/v1.0"), field: "spec.source.path"},
	"path at the root":      {tweak: path("/docs"), want: []string{"spec.source.path: must be relative"}},
	"path ending in /":      {tweak: path("docs/"), want: []string{"spec.source.path: without '/' at its end"}},
	"path leading out":      {tweak: path("a/../../b"), want: []string{"spec.source.path: must not contain the segment '.' or '..'"}},
	"path to git's data":    {tweak: path("a/.GIT/b"), want: []string{"spec.source.path: must not lead into '.git'"}},
	"path like an option":   {tweak: path("a/-b"), want: []string{"spec.source.path: no segment may begin with '-'"}},
	"path with variable":    {tweak: path("a/$uri"), want: []string{"spec.source.path: must consist of letters"}},
	"path too long":         {tweak: path(strings.Repeat("a", 1025)), want: []string{"spec.source.path: may not be more than 1024"}},
	"submodules":            {tweak: func(w *website.Website) { w.Spec.Source.Submodules = website.SubmodulesShallow }, field: "spec.source.submodules"},
	"submodules in between": {tweak: func(w *website.Website) { w.Spec.Source.Submodules = "Some" }, want: []string{`spec.source.submodules: supported values: "Off", "Recursive", "Shallow"`}},
	"secret":                {tweak: func(w *website.Website) { w.Spec.Source.SecretRef = &website.SecretReference{Name: "git.key"} }, field: "spec.source.secretRef.name"},
	"secret without name":   {tweak: func(w *website.Website) { w.Spec.Source.SecretRef = &website.SecretReference{} }, want: []string{"spec.source.secretRef.name: Required value"}},
	"secret in upper case":  {tweak: func(w *website.Website) { w.Spec.Source.SecretRef = &website.SecretReference{Name: "Key"} }, want: []string{"spec.source.secretRef.name: RFC 1123 subdomain"}},

	"slowest sync": {tweak: func(w *website.Website) {
		w.Spec.Sync = website.WebsiteSync{PeriodSeconds: 86400, TimeoutSeconds: 3600}
	}, field: "spec.sync.periodSeconds"},
	"fastest sync":  {tweak: func(w *website.Website) { w.Spec.Sync = website.WebsiteSync{PeriodSeconds: 10, TimeoutSeconds: 10} }, field: "spec.sync.timeoutSeconds"},
	"period short":  {tweak: func(w *website.Website) { w.Spec.Sync.PeriodSeconds = 9 }, want: []string{"spec.sync.periodSeconds: must be greater than or equal to 10"}},
	"period long":   {tweak: func(w *website.Website) { w.Spec.Sync.PeriodSeconds = 86401 }, want: []string{"spec.sync.periodSeconds: must be less than or equal to 86400"}},
	"timeout short": {tweak: func(w *website.Website) { w.Spec.Sync.TimeoutSeconds = 9 }, want: []string{"spec.sync.timeoutSeconds: must be greater than or equal to 10"}},
	"timeout long":  {tweak: func(w *website.Website) { w.Spec.Sync.TimeoutSeconds = 3601 }, want: []string{"spec.sync.timeoutSeconds: must be less than or equal to 3600"}},

	"index":               {tweak: serving(func(s *website.WebsiteServing) { s.Index = "home.htm" }), field: "spec.serving.index"},
	"index with path":     {tweak: serving(func(s *website.WebsiteServing) { s.Index = "a/b" }), want: []string{"spec.serving.index: must be the name of a file"}},
	"index like option":   {tweak: serving(func(s *website.WebsiteServing) { s.Index = "-x" }), want: []string{"spec.serving.index: not beginning with '.' or '-'"}},
	"index too long":      {tweak: serving(func(s *website.WebsiteServing) { s.Index = strings.Repeat("a", 256) }), want: []string{"spec.serving.index: may not be more than 255"}},
	"not found":           {tweak: serving(func(s *website.WebsiteServing) { s.NotFoundPath = "/errors/404.html" }), field: "spec.serving.notFoundPath"},
	"not found, relative": {tweak: serving(func(s *website.WebsiteServing) { s.NotFoundPath = "404.html" }), want: []string{"spec.serving.notFoundPath: must begin with '/'"}},
	"not found, variable": {tweak: serving(func(s *website.WebsiteServing) { s.NotFoundPath = "/$x" }), want: []string{"spec.serving.notFoundPath: must consist of letters"}},
	"not found, upwards":  {tweak: serving(func(s *website.WebsiteServing) { s.NotFoundPath = "/../x" }), want: []string{"spec.serving.notFoundPath: must not contain the segment"}},
	"fallback":            {tweak: serving(func(s *website.WebsiteServing) { s.Fallback = website.FallbackSPA }), field: "spec.serving.fallback"},
	"fallback unknown":    {tweak: serving(func(s *website.WebsiteServing) { s.Fallback = "Index" }), want: []string{`spec.serving.fallback: supported values: "None", "SPA"`}},

	"redirects":              {tweak: tweaks(redirect("/old-page", "/new?a=b#c", 302), redirect("/b", "https://example.com/b", 308)), field: "spec.serving.redirects[].from"},
	"redirect to http":       {tweak: redirect("/a", "http://example.com:8080", 307), field: "spec.serving.redirects[].to"},
	"redirect from nothing":  {tweak: redirect("", "/b", 301), want: []string{"spec.serving.redirects[0].from: Required value"}},
	"redirect to nothing":    {tweak: redirect("/a", "", 301), want: []string{"spec.serving.redirects[0].to: Required value"}},
	"redirect from relative": {tweak: redirect("a", "/b", 301), want: []string{"spec.serving.redirects[0].from: must begin with '/'"}},
	"redirect from variable": {tweak: redirect("/$a", "/b", 301), want: []string{"spec.serving.redirects[0].from: must consist of letters"}},
	"redirect from query":    {tweak: redirect("/a?b", "/b", 301), want: []string{"spec.serving.redirects[0].from: must consist of letters"}},
	"redirect from slashes":  {tweak: redirect("//a", "/b", 301), want: []string{"spec.serving.redirects[0].from: must not contain '//'"}},
	"redirect from upwards":  {tweak: redirect("/a/../b", "/b", 301), want: []string{"spec.serving.redirects[0].from: must not contain the segment '.' or '..'"}},
	"redirect to itself":     {tweak: redirect("/a", "/a", 301), want: []string{"spec.serving.redirects[0].to: must not redirect to itself"}},
	"redirect to relative":   {tweak: redirect("/a", "b", 301), want: []string{"spec.serving.redirects[0].to: must be an absolute path, or an https:// or http:// URL"}},
	"redirect to script":     {tweak: redirect("/a", "javascript:alert(1)", 301), want: []string{"spec.serving.redirects[0].to: must be an absolute path"}},
	"redirect to a host":     {tweak: redirect("/a", "//evil.example.com", 301), want: []string{"spec.serving.redirects[0].to: must not begin with '//'"}},
	"redirect to directive":  {tweak: redirect("/a", "/b;return", 301), want: []string{"spec.serving.redirects[0].to: must not contain white space"}},
	"redirect to variable":   {tweak: redirect("/a", "https://$host/b", 301), want: []string{"spec.serving.redirects[0].to: must not contain white space"}},
	"redirect to no host":    {tweak: redirect("/a", "https:///b", 301), want: []string{"spec.serving.redirects[0].to: must name a host"}},
	"redirect with password": {tweak: redirect("/a", "https://u:p@example.com/", 301), want: []string{"spec.serving.redirects[0].to: must not contain a user name or password"}},
	"redirect to bad escape": {tweak: redirect("/a", "/%zz", 301), want: []string{"spec.serving.redirects[0].to: invalid URL escape"}},
	"redirect code":          {tweak: redirect("/a", "/b", 303), field: "spec.serving.redirects[].code"},
	"redirect code unknown":  {tweak: redirect("/a", "/b", 304), want: []string{`spec.serving.redirects[0].code: supported values: "301", "302", "303", "307", "308"`}},
	"redirect twice":         {tweak: tweaks(redirect("/a", "/b", 301), redirect("/a", "/c", 301)), want: []string{`spec.serving.redirects[1].from: Duplicate value: "/a"`}},
	"redirects at most":      {tweak: redirects(2000), field: "spec.serving.redirects"},
	"too many redirects":     {tweak: redirects(2001), want: []string{"spec.serving.redirects: Too many: 2001: must have at most 2000 items"}},

	"headers":               {tweak: tweaks(header("/", "Content-Security-Policy", "default-src 'self'; img-src *"), header("/a/", "Link", `</a.css>; rel="preload"`)), field: "spec.serving.headers[].value"},
	"header for two paths":  {tweak: tweaks(header("/", "X-A", "1"), header("/a/", "X-A", "2")), field: "spec.serving.headers[].name"},
	"header path relative":  {tweak: header("a", "X-A", "1"), want: []string{"spec.serving.headers[0].path: must begin with '/'"}},
	"header without name":   {tweak: header("/", "", "1"), want: []string{"spec.serving.headers[0].name: Required value"}},
	"header without value":  {tweak: header("/", "X-A", ""), want: []string{"spec.serving.headers[0].value: Required value"}},
	"header with colon":     {tweak: header("/", "X:", "1"), want: []string{"spec.serving.headers[0].name: must consist of letters, digits and '-'"}},
	"header of the hop":     {tweak: header("/", "Transfer-Encoding", "chunked"), want: []string{"spec.serving.headers[0].name: must not be a header of the connection"}},
	"header of the framing": {tweak: header("/", "content-length", "1"), want: []string{"spec.serving.headers[0].name: must not be a header of the connection"}},
	"header split":          {tweak: header("/", "X-A", "1\r\nX-B: 2"), want: []string{"spec.serving.headers[0].value: must consist of printable ASCII"}},
	"header with variable":  {tweak: header("/", "X-A", "$host"), want: []string{"spec.serving.headers[0].value: other than '$'"}},
	"header with space":     {tweak: header("/", "X-A", " 1"), want: []string{"spec.serving.headers[0].value: must not begin or end with a space"}},
	"header twice":          {tweak: tweaks(header("/", "X-A", "1"), header("/", "x-a", "2")), want: []string{`spec.serving.headers[1].name: Duplicate value: "x-a"`}},
	"header value too long": {tweak: header("/", "X-A", strings.Repeat("a", 4097)), want: []string{"spec.serving.headers[0].value: may not be more than 4096"}},
	"too many headers":      {tweak: headers(101), want: []string{"spec.serving.headers: Too many: 101: must have at most 100 items"}},

	"service type":         {tweak: func(w *website.Website) { w.Spec.Service.Type = website.ServiceTypeClusterIP }, field: "spec.service.type"},
	"service type unknown": {tweak: func(w *website.Website) { w.Spec.Service.Type = "ExternalName" }, want: []string{`spec.service.type: supported values: "ClusterIP", "LoadBalancer", "NodePort"`}},
	"node port":            {tweak: func(w *website.Website) { w.Spec.Service.NodePort = 30080 }, field: "spec.service.nodePort"},
	"node port of a balancer": {tweak: func(w *website.Website) {
		w.Spec.Service = website.WebsiteService{Type: website.ServiceTypeLoadBalancer, NodePort: 30080}
	}, field: "spec.service.nodePort"},
	"node port of a cluster IP": {tweak: func(w *website.Website) {
		w.Spec.Service = website.WebsiteService{Type: website.ServiceTypeClusterIP, NodePort: 30080}
	},
		want: []string{"spec.service.nodePort: Forbidden: may only be set when the type is NodePort or LoadBalancer"}},
	"node port negative": {tweak: func(w *website.Website) { w.Spec.Service.NodePort = -1 }, want: []string{"spec.service.nodePort: must be greater than or equal to 1"}},
	"node port too high": {tweak: func(w *website.Website) { w.Spec.Service.NodePort = 65536 }, want: []string{"spec.service.nodePort: must be less than or equal to 65535"}},

	"resources":               {tweak: server("64Mi", "64Mi"), field: "spec.resources.server"},
	"negative request":        {tweak: server("64Mi", "-1"), want: []string{"spec.resources.server.requests[memory]: must be greater than or equal to 0"}},
	"request over limit":      {tweak: server("64Mi", "65Mi"), want: []string{"spec.resources.server.requests[memory]: must be less than or equal to the limit of 64Mi"}},
	"sync request over limit": {tweak: func(w *website.Website) { w.Spec.Resources.Sync = memory("1", "2") }, want: []string{"spec.resources.sync.requests[memory]: must be less than or equal to the limit of 1"}},
	"resource of a device": {tweak: func(w *website.Website) {
		w.Spec.Resources.Server.Limits = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	}, want: []string{`spec.resources.server.limits[example.com/gpu]: supported values: "cpu", "memory", "ephemeral-storage"`}},
	"resource claims": {tweak: func(w *website.Website) { w.Spec.Resources.Server.Claims = []corev1.ResourceClaim{{Name: "x"}} },
		want: []string{"spec.resources.server.claims: Forbidden: the pods of a Website have no resource claims"}},

	"node selector":         {tweak: func(w *website.Website) { w.Spec.Scheduling.NodeSelector = map[string]string{"example.com/zone": "a"} }, field: "spec.scheduling.nodeSelector"},
	"node selector illegal": {tweak: func(w *website.Website) { w.Spec.Scheduling.NodeSelector = map[string]string{"zone": "a b"} }, want: []string{"spec.scheduling.nodeSelector: a valid label must be"}},
	"toleration":            {tweak: tolerating(corev1.Toleration{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](1)}), field: "spec.scheduling.tolerations"},
	"toleration of all":     {tweak: tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), field: "spec.scheduling.tolerations"},
	"toleration of nothing": {tweak: tolerating(corev1.Toleration{}), want: []string{"spec.scheduling.tolerations[0].operator: must be Exists when there is no key"}},
	"toleration key":        {tweak: tolerating(corev1.Toleration{Key: "a b"}), want: []string{"spec.scheduling.tolerations[0].key: name part must consist of"}},
	"toleration value":      {tweak: tolerating(corev1.Toleration{Key: "a", Value: "b c"}), want: []string{"spec.scheduling.tolerations[0].value: a valid label must be"}},
	"toleration operator":   {tweak: tolerating(corev1.Toleration{Key: "a", Operator: "In"}), want: []string{`spec.scheduling.tolerations[0].operator: supported values: "Exists", "Equal"`}},
	"toleration effect":     {tweak: tolerating(corev1.Toleration{Key: "a", Effect: "Never"}), want: []string{`spec.scheduling.tolerations[0].effect: supported values`}},
	"toleration of a value": {tweak: tolerating(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Value: "b"}), want: []string{"spec.scheduling.tolerations[0].value: must be empty when the operator is Exists"}},
	"toleration for a time": {tweak: tolerating(corev1.Toleration{Key: "a", TolerationSeconds: ptr.To[int64](1)}), want: []string{"spec.scheduling.tolerations[0].effect: must be NoExecute when tolerationSeconds is set"}},
}

func tweaks(tweaks ...func(*website.Website)) func(*website.Website) {
	return func(w *website.Website) {
		for _, tweak := range tweaks {
			tweak(w)
		}
	}
}

func redirects(n int) func(*website.Website) {
	return func(w *website.Website) {
		for i := range n {
			redirect(fmt.Sprintf("/%d", i), "/x", 301)(w)
		}
	}
}

func headers(n int) func(*website.Website) {
	return func(w *website.Website) {
		for i := range n {
			header(fmt.Sprintf("/%d", i), "X-A", "1")(w)
		}
	}
}

// TestSpecs sends specs through all that a request meets, so that a mistake
// which two rules report shows up.
func TestSpecs(t *testing.T) {
	strategy := newStrategy(t)
	for name, test := range specCases {
		t.Run(name, func(t *testing.T) {
			created := newWebsite(func(w *website.Website) { w.ResourceVersion = "" }, test.tweak)
			checkCauses(t, rest.BeforeCreate(strategy, requestContext("v1beta1", ""), created), test.want)
		})
	}
}

// TestUnchangedMistakesDoNotBlockUpdates stores what today's rules refuse and
// then scales it.
func TestUnchangedMistakesDoNotBlockUpdates(t *testing.T) {
	strategy := newStrategy(t)
	for name, test := range specCases {
		if name == "negative replicas" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(test.tweak, func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](7) })
			checkCauses(t, rest.BeforeUpdate(strategy, requestContext("v1beta1", ""), updated, newWebsite(test.tweak)), nil)
		})
	}
}

var statusCases = map[string]struct {
	tweak func(*website.WebsiteStatus)
	field string
	want  []string
}{
	"generation":          {tweak: func(s *website.WebsiteStatus) { s.ObservedGeneration = 4 }, field: "status.observedGeneration"},
	"negative generation": {tweak: func(s *website.WebsiteStatus) { s.ObservedGeneration = -1 }, want: []string{"status.observedGeneration: must be greater than or equal to 0"}},
	"negative replicas":   {tweak: func(s *website.WebsiteStatus) { s.Replicas = -1 }, want: []string{"status.replicas: must be greater than or equal to 0"}},
	"negative updated":    {tweak: func(s *website.WebsiteStatus) { s.UpdatedReplicas = -1 }, want: []string{"status.updatedReplicas: must be greater than or equal to 0"}},
	"negative ready":      {tweak: func(s *website.WebsiteStatus) { s.ReadyReplicas = -1 }, want: []string{"status.readyReplicas: must be greater than or equal to 0"}},
	"negative available":  {tweak: func(s *website.WebsiteStatus) { s.AvailableReplicas = -1 }, want: []string{"status.availableReplicas: must be greater than or equal to 0"}},
	"selector too long":   {tweak: func(s *website.WebsiteStatus) { s.Selector = "a!=b" + strings.Repeat(",a!=b", 300) }, want: []string{"status.selector: may not be more than 1024"}},
	"abbreviated commit":  {tweak: func(s *website.WebsiteStatus) { s.Commit = "abc" }, want: []string{"status.commit: must be the full name of a commit"}},
	"node port":           {tweak: func(s *website.WebsiteStatus) { s.NodePort = 30080 }, field: "status.nodePort"},
	"node port too high":  {tweak: func(s *website.WebsiteStatus) { s.NodePort = 65536 }, want: []string{"status.nodePort: must be less than or equal to 65535"}},
	"url":                 {tweak: func(s *website.WebsiteStatus) { s.Urls = []string{"http://10.0.0.1:30080"} }, field: "status.urls"},
	"url of nothing":      {tweak: func(s *website.WebsiteStatus) { s.Urls = []string{"x"} }, want: []string{"status.urls[0]: https:// or http:// URL"}},
	"too many urls":       {tweak: func(s *website.WebsiteStatus) { s.Urls = make([]string, 17); fill(s.Urls) }, want: []string{"status.urls: must have at most 16 items"}},
	"condition of no type": {tweak: func(s *website.WebsiteStatus) {
		s.Conditions = []metav1.Condition{{Status: "True", Reason: "X", LastTransitionTime: metav1.Unix(1, 0)}}
	}, want: []string{"status.conditions[0].type: Required value"}},
}

func fill(urls []string) {
	for i := range urls {
		urls[i] = "http://example.com"
	}
}

func TestStatuses(t *testing.T) {
	strategy := NewStatusStrategy(newStrategy(t))
	for name, test := range statusCases {
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(func(w *website.Website) { test.tweak(&w.Status) })
			checkCauses(t, rest.BeforeUpdate(strategy, requestContext("v1beta1", "status"), updated, newWebsite()), test.want)
			again := newWebsite(func(w *website.Website) { test.tweak(&w.Status); w.Status.UpdatedReplicas = 2 })
			if !strings.HasPrefix(name, "negative updated") {
				checkCauses(t, rest.BeforeUpdate(strategy, requestContext("v1beta1", "status"), again, updated), nil)
			}
		})
	}
}

// TestErrorsSpeakTheVersionOfTheClient: paths are those of what was sent.
func TestErrorsSpeakTheVersionOfTheClient(t *testing.T) {
	const carried = "metadata.annotations[mycontroller.nevermosby.io/v1beta1-fields]."
	tests := map[string]struct {
		tweak    func(*website.Website)
		v1alpha1 string
		v1beta1  string
	}{
		"repository": {tweak: repository(""), v1alpha1: "spec.gitRepo", v1beta1: "spec.source.repository"},
		"replicas":   {tweak: func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](-1) }, v1alpha1: "spec.replicas", v1beta1: "spec.replicas"},
		"deployment": {tweak: func(w *website.Website) { w.Spec.DeploymentName = "A" }, v1alpha1: "spec.deploymentName", v1beta1: "spec.deploymentName"},
		"name":       {tweak: func(w *website.Website) { w.Name = "a.b" }, v1alpha1: "metadata.name", v1beta1: "metadata.name"},
		"declared rule for a field that v1alpha1 lacks": {
			tweak:    func(w *website.Website) { w.Spec.Sync.PeriodSeconds = 1 },
			v1alpha1: carried + "spec.sync.periodSeconds", v1beta1: "spec.sync.periodSeconds",
		},
		"written rule for a field that v1alpha1 lacks": {
			tweak: path("../x"), v1alpha1: carried + "spec.source.path", v1beta1: "spec.source.path",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for version, want := range map[string]string{"v1alpha1": test.v1alpha1, "v1beta1": test.v1beta1} {
				created := newWebsite(func(w *website.Website) { w.ResourceVersion = "" }, test.tweak)
				got := causes(rest.BeforeCreate(newStrategy(t), requestContext(version, ""), created))
				if len(got) != 1 || !strings.HasPrefix(got[0], want+": ") {
					t.Errorf("%s: errors = %q, want one about %s", version, got, want)
				}
			}
		})
	}
	t.Run("deployment name missing in v1alpha1", func(t *testing.T) {
		created := newWebsite(func(w *website.Website) { w.ResourceVersion, w.Spec.DeploymentName = "", "" })
		checkCauses(t, rest.BeforeCreate(newStrategy(t), requestContext("v1alpha1", ""), created),
			[]string{"spec.deploymentName: Required value: the name of the Deployment that serves the site"})
	})
	t.Run("deployment renamed", func(t *testing.T) {
		renamed := newWebsite(func(w *website.Website) { w.Spec.DeploymentName = "other" })
		checkCauses(t, rest.BeforeUpdate(newStrategy(t), requestContext("v1alpha1", ""), renamed, newWebsite()),
			[]string{`spec.deploymentName: Invalid value: "other": field is immutable`})
	})
}

// TestEveryFieldHasACase fails when a field is added to v1beta1 without a case
// that says what is legal in it.
func TestEveryFieldHasACase(t *testing.T) {
	index := regexp.MustCompile(`\[[^\]]*\]`)
	named := map[string]bool{}
	for _, test := range specCases {
		for _, path := range append([]string{test.field}, test.want...) {
			path, _, _ = strings.Cut(path, ": ")
			named[index.ReplaceAllString(path, "[]")] = true
		}
	}
	for _, test := range statusCases {
		for _, path := range append([]string{test.field}, test.want...) {
			path, _, _ = strings.Cut(path, ": ")
			named[index.ReplaceAllString(path, "[]")] = true
		}
	}
	for _, path := range append(leaves("spec", reflect.TypeFor[v1beta1.WebsiteSpec]()), leaves("status", reflect.TypeFor[v1beta1.WebsiteStatus]())...) {
		covered := false
		for name := range named {
			covered = covered || strings.HasPrefix(name, path)
		}
		if !covered {
			t.Errorf("no validation case names %s", path)
		}
	}
}

// leaves returns the JSON paths of the fields of our own types.
func leaves(path string, typ reflect.Type) []string {
	switch {
	case typ.Kind() == reflect.Pointer:
		return leaves(path, typ.Elem())
	case typ.Kind() == reflect.Slice && typ.Elem().PkgPath() == reflect.TypeFor[v1beta1.Website]().PkgPath():
		return leaves(path+"[]", typ.Elem())
	case typ.Kind() != reflect.Struct || typ.PkgPath() != reflect.TypeFor[v1beta1.Website]().PkgPath():
		return []string{path}
	}
	var paths []string
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		paths = append(paths, leaves(path+"."+name, field.Type)...)
	}
	return paths
}
