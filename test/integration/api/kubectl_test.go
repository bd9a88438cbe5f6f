package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestKubectl runs the kubectl commands of users; a Website must behave like a built-in type.
func TestKubectl(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.Kubectl(t, "apply", "-n", namespace, "-f", framework.Example)
	framework.Kubectl(t, "wait", "-n", namespace, "--for=jsonpath={.status.availableReplicas}=1",
		"website/kubia", "--timeout=90s")

	outputs := map[string]struct {
		args []string
		want string
	}{
		"get": {
			args: []string{"get", "websites"},
			want: `(?m)^NAME +READY +URL +COMMIT +SYNC +PINNED +AGE\nkubia +1/1 +\S*:3\d{4} +\S+ +\S+ +<none> +\d+s$`,
		},
		"get in v1alpha1": {
			args: []string{"get", "websites.v1alpha1.mycontroller.nevermosby.io"},
			want: `(?m)^NAME +READY +URL +COMMIT +SYNC +PINNED +AGE\nkubia +1/1 +\S*:3\d{4} +\S+ +\S+ +<none> +\d+s$`,
		},
		"get by short name, wide": {
			args: []string{"get", "ws", "-o", "wide"},
			want: `(?m)^NAME +READY +URL +COMMIT +SYNC +PINNED +AGE +REPO +REF +DEPLOYMENT +ROLLOUT\nkubia +1/1 +\S+ +\S+ ` +
				`+\S+ +<none> +\d+s +https://github.com/nevermosby/kubia-website-example.git +HEAD +kubia-website +\S+$`,
		},
		"get by singular name and group": {
			args: []string{"get", "website.mycontroller.nevermosby.io/kubia", "-o", "name"},
			want: `^website.mycontroller.nevermosby.io/kubia\n$`,
		},
		"get by version": {
			args: []string{"get", "websites.v1alpha1.mycontroller.nevermosby.io", "kubia", "-o",
				"jsonpath={.spec.deploymentName}"},
			want: `^kubia-website$`,
		},
		"get all": {
			args: []string{"get", "all"},
			want: `(?s)^NAME.*deployment.apps/kubia-website`,
		},
		"describe": {
			args: []string{"describe", "website", "kubia"},
			want: `(?s)Deployment Name: +kubia-website.*Available Replicas: +1`,
		},
		"select by field": {
			args: []string{"get", "ws", "--field-selector=metadata.name=kubia", "-o", "name"},
			want: `kubia`,
		},
		"select by deployment": {
			args: []string{"get", "ws", "--field-selector=spec.deploymentName=kubia-website", "-o", "name"},
			want: `kubia`,
		},
		"select by repository of v1alpha1": {
			args: []string{"get", "websites.v1alpha1.mycontroller.nevermosby.io",
				"--field-selector=spec.gitRepo=https://github.com/nevermosby/kubia-website-example.git", "-o", "name"},
			want: `kubia`,
		},
	}
	for name, test := range outputs {
		t.Run(name, func(t *testing.T) {
			got := framework.Kubectl(t, append(test.args, "-n", namespace)...)
			if !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("kubectl %s printed\n%s\nwant %s", strings.Join(test.args, " "), got, test.want)
			}
		})
	}

	t.Run("all namespaces", func(t *testing.T) {
		got := framework.Kubectl(t, "get", "ws", "-A", "-o", "wide")
		if !regexp.MustCompile(`(?m)^NAMESPACE +NAME +READY +URL +COMMIT +SYNC +PINNED +AGE +REPO +REF +DEPLOYMENT `+
			`+ROLLOUT$`).MatchString(got) ||
			!regexp.MustCompile(`(?m)^`+namespace+` +kubia +1/1 `).MatchString(got) {
			t.Errorf("kubectl get ws -A -o wide printed\n%s", got)
		}
	})
	t.Run("apply again", func(t *testing.T) {
		if got := framework.Kubectl(t, "apply", "-n", namespace, "-f",
			framework.Example); !strings.Contains(got, "unchanged") {
			t.Errorf("applying the same manifest again printed %q, want unchanged", got)
		}
		if got := framework.Kubectl(t, "diff", "-n", namespace, "-f", framework.Example); got != "" {
			t.Errorf("kubectl diff printed %q, want nothing", got)
		}
	})
	t.Run("apply again with lists", func(t *testing.T) {
		withLists := betaManifest("lists", validSource, "serving: {headers: [{path: /, name: X-A, value: a}, {path: /b, "+
			"name: X-A, value: b}], redirects: [{from: /old/*, to: '/new/:splat', statusCode: 301}]}")
		framework.KubectlWith(t, framework.Stdin(withLists), "apply", "-n", namespace, "-f", "-")
		if got := framework.KubectlWith(t, framework.Stdin(withLists), "apply", "-n", namespace, "-f",
			"-"); !strings.Contains(got, "unchanged") {
			t.Errorf("applying the same manifest again printed %q, want unchanged", got)
		}
		if got := framework.KubectlWith(t, framework.Stdin(withLists), "diff", "-n", namespace, "-f", "-"); got != "" {
			t.Errorf("kubectl diff printed %q, want nothing", got)
		}
		framework.Kubectl(t, "delete", "website", "lists", "-n", namespace)
	})
	t.Run("apply on the server", func(t *testing.T) {
		stderr := framework.KubectlRefused(t, manifest("kubia", validRepo, validDeployment, "replicas: 3"), "apply",
			"--server-side", "--field-manager=other", "-n", namespace, "-f", "-")
		if !strings.Contains(stderr,
			`conflict with "kubectl-client-side-apply" using mycontroller.nevermosby.io/v1beta1: .spec.replicas`) {
			t.Errorf("kubectl printed %q, want a conflict about .spec.replicas", stderr)
		}
		got := framework.Kubectl(t, "apply", "--server-side", "-n", namespace, "-f", framework.Example)
		if !strings.Contains(got, "website.mycontroller.nevermosby.io/kubia serverside-applied") {
			t.Errorf("kubectl apply --server-side printed %q", got)
		}
	})
	t.Run("edit", func(t *testing.T) {
		editor := filepath.Join(t.TempDir(), "editor")
		if err := os.WriteFile(editor, []byte("#!/bin/sh\nsed -i.orig 's/replicas: 1/replicas: 2/' \"$1\"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, err := framework.Cluster.KubectlWith(t.Context(),
			devcluster.KubectlOptions{Env: []string{"KUBE_EDITOR=" + editor}}, "edit", "website", "kubia", "-n", namespace)
		if err != nil {
			t.Fatalf("kubectl edit: %v\n%s", err, stderr)
		}
		if !strings.Contains(stdout, "website.mycontroller.nevermosby.io/kubia edited") {
			t.Errorf("kubectl edit printed %q", stdout)
		}
		framework.Kubectl(t, "wait", "-n", namespace, "--for=jsonpath={.status.availableReplicas}=2", "website/kubia",
			"--timeout=90s")
	})
	t.Run("JSON", func(t *testing.T) {
		var object struct {
			Kind, APIVersion string
			Spec             map[string]any
			Status           map[string]any
		}
		if err := json.Unmarshal(
			[]byte(framework.Kubectl(t, "get", "websites.v1alpha1.mycontroller.nevermosby.io", "kubia", "-n", namespace, "-o",
				"json")), &object,
		); err != nil {
			t.Fatal(err)
		}
		if object.Kind != "Website" || object.APIVersion != "mycontroller.nevermosby.io/v1alpha1" || len(object.Spec) != 3 ||
			len(object.Status) != 1 {
			t.Errorf("object = %+v, want the three fields of the spec and the one of the status", object)
		}
	})
	t.Run("JSON of the preferred version", func(t *testing.T) {
		var object struct {
			APIVersion string
			Spec       map[string]any
		}
		if err := json.Unmarshal([]byte(framework.Kubectl(t, "get", "website", "kubia", "-n", namespace, "-o", "json")),
			&object); err != nil {
			t.Fatal(err)
		}
		// The set fields are deploymentName, replicas, source, sync, serving and service.
		if object.APIVersion != "mycontroller.nevermosby.io/v1beta1" || len(object.Spec) != 6 {
			t.Errorf("object = %+v, want v1beta1 with six fields in the spec", object)
		}
	})
	t.Run("scale", func(t *testing.T) {
		got := framework.Kubectl(t, "scale", "website", "kubia", "-n", namespace, "--replicas=1")
		if !strings.Contains(got, "website.mycontroller.nevermosby.io/kubia scaled") {
			t.Errorf("kubectl scale printed %q", got)
		}
		framework.Kubectl(t, "wait", "-n", namespace, "--for=jsonpath={.status.availableReplicas}=1", "website/kubia",
			"--timeout=90s")
	})
	t.Run("delete", func(t *testing.T) {
		got := framework.Kubectl(t, "delete", "-n", namespace, "-f", framework.Example)
		if !strings.Contains(got, `website.mycontroller.nevermosby.io "kubia" deleted`) {
			t.Errorf("kubectl delete printed %q", got)
		}
		framework.WaitFor(t, "the children are gone", framework.ChildrenGone(t, namespace, "kubia"))
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	framework.WaitForOpenAPI(t)
	tests := map[string]struct {
		path string
		want []string
	}{
		"kind": {path: "website", want: []string{"GROUP:      mycontroller.nevermosby.io", "KIND:       Website",
			"publishes a directory of a git repository", "spec\t<WebsiteSpec>"}},
		"spec": {path: "website.spec", want: []string{"deploymentName\t<string>", "source\t<WebsiteSource> -required-",
			"replicas\t<integer>", "Defaults to 1."}},
		"source": {path: "website.spec.source.git.repository",
			want: []string{"FIELD: repository <string>", "user@host:path"}},
		"enum": {path: "website.spec.service.type",
			want: []string{"FIELD: type <string>", "ClusterIP", "LoadBalancer", "NodePort"}},
		"status":   {path: "website.status", want: []string{"availableReplicas\t<integer>", "conditions\t<[]Condition>"}},
		"plural":   {path: "websites.spec.replicas", want: []string{"FIELD: replicas <integer>", "at least 0"}},
		"nickname": {path: "ws.metadata.name", want: []string{"FIELD: name <string>"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := framework.Kubectl(t, "explain", test.path)
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("kubectl explain %s printed\n%s\nwant %q in it", test.path, got, want)
				}
			}
		})
	}
}
