package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	getNamespace = "get namespace website-system"
	getHello     = "get " + websites + " hello"
	getSites     = "get deployments"
	getWebsites  = "get " + websites + " --all-namespaces"
	getPods      = "get pods"
	uninstall    = "exec --namespace=website-system statefulset/website-apiserver -- /website-apiserver uninstall"
	disable      = "annotate service --namespace=website-system website-apiserver --overwrite " +
		"mycontroller.nevermosby.io/registration=Disabled"
	deleteAPI = "delete apiservice --ignore-not-found v1beta1.mycontroller.nevermosby.io " +
		"v1alpha1.mycontroller.nevermosby.io"
	deleteAll    = "delete --ignore-not-found -f -"
	deleteSystem = "delete namespace website-system"
)

// TestRemove: the API is removed first, and the namespace with the store only without sites.
func TestRemove(t *testing.T) {
	const (
		getAPI    = "get --raw=/apis/mycontroller.nevermosby.io/v1beta1"
		deleteOwn = "delete " + websites + " --namespace=default --cascade=foreground " +
			"--selector=app.kubernetes.io/managed-by=make-deploy"
	)
	for name, test := range map[string]struct {
		answers map[string]string
		all     bool
		want    []string
		error   string
	}{
		"no other sites": {
			want: []string{getNamespace, getAPI, deleteOwn, getSites, getWebsites, uninstall + " --minimum-age=0s", "kustomize",
				deleteAll, deleteAPI, deleteSystem},
		},
		"other sites": {
			answers: map[string]string{getSites: "deployment.apps/shop", getWebsites: "website/shop"},
			want: []string{getNamespace, getAPI, deleteOwn, getSites, getWebsites, uninstall, "kustomize",
				deleteAll, deleteAPI},
		},
		"a Website without a Deployment": {
			answers: map[string]string{getWebsites: "website/shop"},
			want: []string{getNamespace, getAPI, deleteOwn, getSites, getWebsites, uninstall, "kustomize",
				deleteAll, deleteAPI},
		},
		"all": {
			all: true,
			want: []string{
				getNamespace, getAPI, "delete " + websites + " --all --all-namespaces", getSites, getWebsites,
				uninstall + " --minimum-age=0s",
				"kustomize", deleteAll, deleteAPI, deleteSystem,
			},
		},
		"an API that is not served": {
			answers: map[string]string{getAPI: "error: ServiceUnavailable", getWebsites: "error: ServiceUnavailable"},
			want:    []string{getNamespace, getAPI, getSites, getWebsites, uninstall, "kustomize", deleteAll, deleteAPI},
		},
		"an API that is not served, all": {
			answers: map[string]string{getAPI: "error: ServiceUnavailable", getWebsites: "error: ServiceUnavailable"},
			all:     true,
			want: []string{getNamespace, getAPI, getSites, getWebsites, uninstall + " --minimum-age=0s", "kustomize",
				deleteAll, deleteAPI, deleteSystem},
		},
		"sites, and a command that fails": {
			answers: map[string]string{getSites: "deployment.apps/shop", getPods: "pod/website-apiserver-0",
				uninstall: "error: timed out"},
			want:  []string{getNamespace, getAPI, deleteOwn, getSites, getWebsites, uninstall, getPods},
			error: "timed out\nThere may be sites",
		},
		"unknown sites, and a command that fails": {
			answers: map[string]string{getWebsites: "error: ServiceUnavailable", getPods: "pod/website-apiserver-0",
				uninstall: "error: timed out"},
			want:  []string{getNamespace, getAPI, deleteOwn, getSites, getWebsites, uninstall, getPods},
			error: "statefulset/website-apiserver --replicas=0, and make undeploy",
		},
		"sites, and no pod": {
			answers: map[string]string{getSites: "deployment.apps/shop", uninstall: "error: no pod"},
			want: []string{getNamespace, getAPI, deleteOwn, getSites, getWebsites, uninstall, getPods, disable, deleteAPI,
				"kustomize", deleteAll, deleteAPI},
		},
		"no sites, and a command that fails": {
			answers: map[string]string{uninstall: "error: timed out", getPods: "pod/website-apiserver-0"},
			want: []string{
				getNamespace, getAPI, deleteOwn, getSites, getWebsites, uninstall + " --minimum-age=0s", getPods,
				disable, deleteAPI,
				"kustomize", deleteAll, deleteAPI, deleteSystem,
			},
		},
		"no Service": {
			answers: map[string]string{uninstall: "error: no pod", disable: "error: Error from server (NotFound): services"},
			want: []string{
				getNamespace, getAPI, deleteOwn, getSites, getWebsites, uninstall + " --minimum-age=0s", getPods,
				disable, deleteAPI,
				"kustomize", deleteAll, deleteAPI, deleteSystem,
			},
		},
		"a Service that cannot be changed": {
			answers: map[string]string{uninstall: "error: no pod", disable: "error: Error from server (Forbidden): services"},
			want: []string{getNamespace, getAPI, deleteOwn, getSites, getWebsites, uninstall + " --minimum-age=0s",
				getPods, disable},
			error: "Forbidden",
		},
		"another installation": {
			answers: map[string]string{getNamespace: "by "},
			want:    []string{getNamespace},
			error:   "was not created by make deploy",
		},
		"no installation": {
			answers: map[string]string{getNamespace: ""},
			want:    []string{getNamespace},
		},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]string{getNamespace: "by make-deploy", " kustomize ": "kind: Namespace\n---\nkind: Service"}
			maps.Copy(answers, test.answers)
			called := standIns(t, answers)
			d := deployment{context: "mine", dir: "../../..", all: test.all, start: time.Now()}
			err := d.remove(t.Context())
			if (err == nil) != (test.error == "") || err != nil && !strings.Contains(err.Error(), test.error) {
				t.Errorf("remove = %v, want %q", err, test.error)
			}
			requireCalls(t, called(), test.want)
		})
	}
}

// requireCalls compares prefixes of kubectl calls; the command uninstall is compared as a whole.
func requireCalls(t *testing.T, calls, want []string) {
	t.Helper()
	for i, call := range calls {
		got := strings.TrimPrefix(call, "kubectl --context=mine ")
		if i >= len(want) || !strings.HasPrefix(got, want[i]) || strings.HasPrefix(got, uninstall) && got != want[i] {
			t.Fatalf("called:\n%s\nwant:\n%s", strings.Join(calls, "\n"), strings.Join(want, "\n"))
		}
	}
	if len(calls) != len(want) {
		t.Errorf("called:\n%s\nwant:\n%s", strings.Join(calls, "\n"), strings.Join(want, "\n"))
	}
}

// TestDeployElsewhere: an installation of another tool is not changed.
func TestDeployElsewhere(t *testing.T) {
	called := standIns(t, map[string]string{getNamespace: "by Helm"})
	d := deployment{context: "mine", dir: "../../..", start: time.Now()}
	if err := d.deploy(t.Context()); err == nil || !strings.Contains(err.Error(),
		"in context mine was not created by make deploy") || !strings.Contains(err.Error(), "helm") {
		t.Errorf("deploy = %v", err)
	}
	requireCalls(t, called(), []string{getNamespace})
}

// TestPublish: only the Website of "make deploy" is changed.
func TestPublish(t *testing.T) {
	const apply = "apply --namespace=default -f -"
	for name, test := range map[string]struct {
		created, repository, error string
		want                       []string
	}{
		"none":                        {"", "", "", []string{getHello, apply, getHello}},
		"own":                         {"by make-deploy", "", "", []string{getHello, apply, getHello}},
		"another one":                 {"by ", "", "", []string{getHello}},
		"another one, and repository": {"by ", "http://git.example.com/site.git", "does not get REPO", []string{getHello}},
	} {
		t.Run(name, func(t *testing.T) {
			called := standIns(t, map[string]string{
				getHello + " --namespace=default --ignore-not-found": test.created,
				getHello + " --namespace=default -o json": `{"status":{"conditions":[{"type":"Ready",` +
					`"status":"True"}]}}`,
			})
			d := deployment{context: "mine", dir: "../../..", repository: test.repository, start: time.Now()}
			err := d.publish(t.Context())
			if (err == nil) != (test.error == "") || err != nil && !strings.Contains(err.Error(), test.error) {
				t.Errorf("publish = %v, want %q", err, test.error)
			}
			requireCalls(t, called(), test.want)
		})
	}
}

// TestOverlay: the namespace has the label by which "make undeploy" finds its own installation.
func TestOverlay(t *testing.T) {
	d := deployment{dir: t.TempDir(), commit: "0123456789abcdef", start: time.Now()}
	dir, err := d.overlay()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Patches []struct {
			Target struct{ Kind string }
			Patch  string
		}
	}
	if err := json.Unmarshal(data, &kustomization); err != nil {
		t.Fatal(err)
	}
	const want = `[{"op": "add", "path": "/metadata/labels/app.kubernetes.io~1managed-by", "value": "make-deploy"}]`
	if p := kustomization.Patches; len(p) != 1 || p[0].Target.Kind != "Namespace" || p[0].Patch != want {
		t.Errorf("the patches are %+v", p)
	}
}
