package resources

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// FuzzAcceptedWebsites builds the children of every Website that the API server would store: a
// command line of the agent whose values neither the agent nor git can parse as flags, and a
// configuration that nginx accepts. Without nginx on PATH, the configuration is only rendered, and
// each input is reported as skipped.
//
// Run it for longer by: go test -fuzz=FuzzAcceptedWebsites ./pkg/controller/website/resources
func FuzzAcceptedWebsites(f *testing.F) {
	f.Add("https://example.com/site.git", "main", "public", "index.html", "/404.html", "/a", "/b", "/",
		"X-Frame-Options", "DENY",
		"/data/*", "dat", "text/plain; charset=utf-8", "Shift_JIS")
	f.Add("git@example.com:site.git", "feature/x", "docs/_site", "home.htm", "/e/404", "/old",
		"https://example.com/new?a=b#c", "/assets/", "Link", `</a.css>; rel="preload"`,
		"/feed", "JS", "application/x+y", "None")
	f.Add("ssh://git@example.com:2222/~u/x", "v1.0+b=1#2@3", "a.b-c_d", "_.x", "/~/+,=:@&!()*-", "/(a|b)*",
		"/%2e%2e/[x]?a&b=(c)*", "/a.b*(c)+", "X-1", "default-src 'self'; img-src *; a{b}#c<>|^`~,",
		"/größe;{}'", "c++", "a!#&^_.+-/b", "UTF-8")
	f.Add("https://example.com/site.git", "zweig/ä-日本", "my site/日本 docs", "index.html", "/404.html", "/a", "/b", "/",
		"X-Frame-Options", "DENY",
		"/.git/*", "include", "include/x;charset=gbk", "x-mac-cyrillic")
	f.Add("https://example.com/site.git", "a b", "a\u202e", "ä b", "/ä b", "/ä b", "/ä b", "/ä b", "X-ä", "ä",
		"/a/", "a b", "a b/c", "a b")
	f.Add("https://example.com/$(GIT_USERNAME)/x.git", "$(GIT_USERNAME)", "$(x)", "$(x)", "/$(x)", "/$(x)", "/$(x)",
		"/$(x)", "X", "$(x)",
		"/$(x)", "$(x)", "a/$(x)", "$(x)")
	f.Add("--upload-pack=x", "-x", "-x", "-x", "-x", "-x", "-x", "-x", "-x", "-x",
		"-x", "-x", "-x/-x", "-x")
	f.Add("https://example.com/a\x00", "main\n", "a\n", "index.html\n", "/404.html\n", "/a\n", "/b\n",
		"/\x7f", "X\n", "x\t",
		"/a\n", "a\n", "a/b\n", "UTF-8\n")
	f.Add("https://h/x", "a", "$uri", "$x", "/$x", "/${x}", "https://$host/", "/$", "X", "$host",
		"/$uri", "$x", "a/$x", "$x")
	f.Add("https://h/x", "a", `a"b`, `a;b`, `/a;b`, `/a"b`, `/a\b`, `/a{b}`, "X", `a\"; return 200; #`,
		"/a\"b", "a\"", "a/b\"; return 200", "a;b")

	f.Add("https://h/x", "a", "a", "a", "/größe fehlt.html", "/日本 'x';{}/*", "/a/:splat", "/ö;{} '#/*", "X", "x",
		"/.well-known/*", "svgz", "text/html", "none")
	f.Add("https://h/x", "a", "a", "a", "/%23%25", "/%3F%25/%2A%3B%7D/*", "/a", "/%7E%3f#", "X", "x",
		"/%23%25", "_", "a/b; charset=UTF-8", "off")
	f.Add("https://h/x", "a", "a", "a", "/%0a%3f", "/%22%24", "/a", "/%5C%C3%B6", "X", "x",
		"/%0a%3f", ".a", "a/b; charset=x", "utf-8")

	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		f.Fatal(err)
	}
	strategy := registry.NewStrategy(scheme)
	nginx, missing := exec.LookPath("nginx")

	f.Fuzz(func(t *testing.T, repository, ref, path, index, notFound, from, to, headerPath, headerName,
		headerValue, typePath, extension, contentType, charset string) {
		// Each is validated alone, so that a rejected value does not hide another.
		members := []func(*v1beta1.Website){
			func(w *v1beta1.Website) { w.Spec.Source.Git.Repository = repository },
			func(w *v1beta1.Website) {
				w.Spec.Source.Git.Repository, w.Spec.Source.Git.SecretRef = repository, &v1beta1.SecretReference{Name: "key"}
			},
			func(w *v1beta1.Website) { w.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: ref} },
			func(w *v1beta1.Website) { w.Spec.Source.Git.Ref = &v1beta1.GitReference{Tag: ref} },
			func(w *v1beta1.Website) { w.Spec.Source.Git.Ref = &v1beta1.GitReference{Commit: ref} },
			func(w *v1beta1.Website) { w.Spec.Source.Git.Ref = &v1beta1.GitReference{Name: ref} },
			func(w *v1beta1.Website) { w.Spec.Source.Path = path },
			func(w *v1beta1.Website) { w.Spec.Serving.Index = index },
			func(w *v1beta1.Website) { w.Spec.Serving.NotFoundPath = notFound },
			func(w *v1beta1.Website) {
				w.Spec.Serving.Redirects = append(w.Spec.Serving.Redirects, v1beta1.Redirect{From: from, To: to, StatusCode: 301})
			},
			func(w *v1beta1.Website) {
				w.Spec.Serving.Headers = append(w.Spec.Serving.Headers,
					v1beta1.ResponseHeader{Path: headerPath, Name: headerName, Value: headerValue})
			},
			func(w *v1beta1.Website) {
				w.Spec.Serving.Headers = append(w.Spec.Serving.Headers,
					v1beta1.ResponseHeader{Path: headerPath, Name: "X-Fuzzed", Value: "x"})
			},
			func(w *v1beta1.Website) {
				w.Spec.Serving.Headers = append(w.Spec.Serving.Headers,
					v1beta1.ResponseHeader{Path: "/*", Name: "X-Valued", Value: headerValue})
			},
			func(w *v1beta1.Website) {
				w.Spec.Serving.Types = append(w.Spec.Serving.Types, v1beta1.ContentType{Path: typePath, Type: "text/plain"})
			},
			func(w *v1beta1.Website) {
				w.Spec.Serving.Types = append(w.Spec.Serving.Types, v1beta1.ContentType{Extension: extension, Type: contentType})
			},
			func(w *v1beta1.Website) {
				w.Spec.Serving.Types = append(w.Spec.Serving.Types, v1beta1.ContentType{Path: "/typed", Type: contentType})
			},
			func(w *v1beta1.Website) { w.Spec.Serving.Charset = charset },
		}
		// All accepted values go into one configuration: nginx takes long to start.
		site := newWebsite()
		v1beta1.SetObjectDefaults_Website(site)
		if err := refusal(t, scheme, strategy, site); err != nil {
			t.Fatalf("what the fuzzing starts from is refused, so everything would be: %v", err)
		}
		for _, set := range members {
			candidate := site.DeepCopy()
			set(candidate)
			if refusal(t, scheme, strategy, candidate) == nil {
				site = candidate
			}
		}
		pod := buildDeployment(t, site).Spec.Template.Spec
		args := expandAll(pod.InitContainers[1].Args, everyVariable)
		for _, want := range []string{
			"--repository=" + site.Spec.Source.Git.Repository, "--ref=" + gitRef(site.Spec.Source.Git.Ref),
			"--path=" + site.Spec.Source.Path,
		} {
			if !slices.Contains(args, want) && want != "--path=" {
				t.Errorf("%+v is accepted, and the kubelet passes on %q, want %q among them", site.Spec, args, want)
			}
		}
		for _, arg := range args[1:] {
			name, value, _ := strings.Cut(arg, "=")
			if !strings.HasPrefix(name, "--") || value == "" || strings.HasPrefix(value, "-") {
				t.Errorf("%+v is accepted and becomes %q", site.Spec, arg)
			}
		}
		folder := t.TempDir()
		config := renderedFor(t, folder, site)
		if missing != nil {
			t.Skip("no nginx on PATH: install the package nginx to test that it takes the configuration")
		}
		file := filepath.Join(folder, "nginx.conf")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		if output, err := exec.CommandContext(t.Context(), nginx, "-t", "-e", "stderr", "-c",
			file).CombinedOutput(); err != nil {
			t.Errorf("%+v is accepted, and nginx -t says: %v\n%s", site.Spec, err, output)
		}
	})
}

// refusal returns the reason why the API server would not store a Website, or nil.
func refusal(t *testing.T, scheme *runtime.Scheme, strategy registry.Strategy, site *v1beta1.Website) error {
	t.Helper()
	internal := &website.Website{}
	if err := scheme.Convert(site, internal, nil); err != nil {
		t.Fatal(err)
	}
	internal.ObjectMeta = metav1.ObjectMeta{Name: site.Name, Namespace: site.Namespace}
	rest.FillObjectMetaSystemFields(internal)
	ctx := genericapirequest.WithNamespace(t.Context(), site.Namespace)
	ctx = genericapirequest.WithRequestInfo(ctx,
		&genericapirequest.RequestInfo{APIGroup: website.GroupName, APIVersion: "v1beta1", Resource: "websites"})
	return rest.BeforeCreate(strategy, ctx, internal)
}

// renderedFor returns the configuration of a Website for an nginx that writes its files in folder.
func renderedFor(t *testing.T, folder string, site *v1beta1.Website) string {
	t.Helper()
	serving, err := newServing(site)
	if err != nil {
		t.Fatalf("%+v is accepted, and nginx cannot be told: %v", site.Spec, err)
	}
	config, err := renderNginx(nginxParameters{
		Root: folder, Link: siteLink, StatusURL: "http://127.0.0.1:8083/status", HTTPListen: "127.0.0.1:8080",
		AdminListen: "127.0.0.1:8081",
		TempDir:     folder, AccessLog: filepath.Join(folder, "access.log"),
		RequestsLog: filepath.Join(folder, "requests"), Workers: workers(site),
		Limits: newConnectionLimits(site), Serving: serving,
	})
	if err != nil {
		t.Fatal(err)
	}
	return config
}
