package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// manifest returns a Website manifest with the given name and lines of its spec.
func manifest(name string, spec ...string) string {
	return fmt.Sprintf("apiVersion: mycontroller.nevermosby.io/v1alpha1\nkind: Website\nmetadata: {name: "+
		"%q}\nspec:\n  %s\n", name, strings.Join(spec, "\n  "))
}

// betaManifest is manifest in version v1beta1.
func betaManifest(name string, spec ...string) string {
	return strings.Replace(manifest(name, spec...), "/v1alpha1", "/v1beta1", 1)
}

const (
	validSource     = "source: {git: {repository: https://github.com/nevermosby/kubia-website-example.git}}"
	validRepo       = "gitRepo: https://github.com/nevermosby/kubia-website-example.git"
	validDeployment = "deploymentName: kubia-website"
)

// TestBadInput checks the error messages in kubectl's output.
func TestBadInput(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	tests := map[string]struct {
		manifest string
		want     string
	}{
		"no gitRepo": {
			manifest: manifest("kubia", validDeployment),
			want: `The Website "kubia" is invalid: spec.gitRepo: Required value: the git repository to publish; must be ` +
				`an https://, http:// or ssh:// URL, or user@host:path`,
		},
		"no deploymentName": {
			manifest: manifest("kubia", validRepo),
			want:     `The Website "kubia" is invalid: spec.deploymentName: Required value: the name of the Deployment`,
		},
		"name with dots": {
			manifest: manifest("kubia.example", validRepo, validDeployment),
			want: `The Website "kubia.example" is invalid: metadata.name: Invalid value: "kubia.example": must not ` +
				`contain dots`,
		},
		"name in upper case": {
			manifest: manifest("Kubia", validRepo, validDeployment),
			want: `The Website "Kubia" is invalid: metadata.name: Invalid value: "Kubia": a lowercase RFC 1123 label must ` +
				`consist of`,
		},
		"deployment name that no Service can have": {
			manifest: manifest("kubia", validRepo, "deploymentName: "+strings.Repeat("a", 58)),
			want:     `The Website "kubia" is invalid: spec.deploymentName: Too long: may not be more than 57`,
		},
		"negative replicas": {
			manifest: manifest("kubia", validRepo, validDeployment, "replicas: -1"),
			want:     `The Website "kubia" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`,
		},
		"replicas beyond 32 bits": {
			manifest: manifest("kubia", validRepo, validDeployment, "replicas: 4294967297"),
			want:     "cannot unmarshal number 4294967297 into Go struct field WebsiteSpec.spec.replicas of type int32",
		},
		"replicas as text": {
			manifest: manifest("kubia", validRepo, validDeployment, "replicas: two"),
			want:     "cannot unmarshal string into Go struct field WebsiteSpec.spec.replicas of type int32",
		},
		"unknown field": {
			manifest: manifest("kubia", validRepo, validDeployment, "branch: main"),
			want: `Error from server (BadRequest): error when creating "STDIN": Website in version "v1alpha1" cannot be ` +
				`handled as a Website: strict decoding error: unknown field "spec.branch"`,
		},
		"repository that is an option": {
			manifest: manifest("kubia", "gitRepo: --upload-pack=touch", validDeployment),
			want: `The Website "kubia" is invalid: spec.gitRepo: Invalid value: "--upload-pack=touch": must not ` +
				`begin with '-'`,
		},
		"v1beta1 without a source": {
			manifest: betaManifest("kubia", "source: {path: public}"),
			want:     "The Website \"kubia\" is invalid: spec.source: Invalid value: \"\": must specify one of: `git`",
		},
		"v1beta1 without a repository": {
			manifest: betaManifest("kubia", "source: {git: {}}"),
			want: `The Website "kubia" is invalid: spec.source.git.repository: Required value: the git repository to ` +
				`publish; must be an https://, http:// or ssh:// URL, or user@host:path`,
		},
		"v1beta1 with two references": {
			manifest: betaManifest("kubia",
				"source: {git: {repository: https://example.com/site.git, ref: {branch: main, tag: v1}}}"),
			want: `The Website "kubia" is invalid: spec.source.git.ref: Invalid value: "{branch, tag}": must specify at ` +
				`most one of`,
		},
		"v1beta1 with a header for no path": {
			manifest: betaManifest("kubia", validSource, "serving: {headers: [{name: X-A, value: b}]}"),
			want:     `The Website "kubia" is invalid: spec.serving.headers[0].path: Required value`,
		},
		"v1beta1 with submodules that YAML reads as false": {
			manifest: betaManifest("kubia", "source: {git: {repository: https://example.com/site.git, submodules: Off}}"),
			want: "cannot unmarshal bool into Go struct field GitSource.spec.source.git.submodules of type " +
				"v1beta1.SubmodulePolicy",
		},
		"v1beta1 with a hasty period": {
			manifest: betaManifest("kubia", validSource, "polling: {periodSeconds: 1}"),
			want: `The Website "kubia" is invalid: spec.polling.periodSeconds: Invalid value: 1: must be greater than or ` +
				`equal to 10`,
		},
		"3 MiB": {
			manifest: manifest("kubia", "gitRepo: https://example.com/"+strings.Repeat("a", 3<<20), validDeployment),
			want: "Error from server (RequestEntityTooLarge): error when creating \"STDIN\": Request entity too large: " +
				"limit is 1572864",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stderr := framework.KubectlRefused(t, test.manifest, "create", "-n", namespace, "-f", "-")
			if !strings.Contains(stderr, test.want) {
				t.Errorf("kubectl printed\n%s\nwant\n%s", stderr, test.want)
			}
		})
	}
	t.Cleanup(func() {
		list, err := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace).List(context.Background(),
			metav1.ListOptions{})
		if err != nil || len(list.Items) != 0 {
			t.Errorf("stored in spite of the errors: %v (%v)", list.Items, err)
		}
	})
}

func TestUnknownFieldsAreReportedAsAsked(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	input := manifest("kubia", validRepo, validDeployment, "branch: main")

	stdout, stderr, err := framework.Cluster.KubectlWith(t.Context(), framework.Stdin(input), "create", "-n", namespace,
		"-f", "-", "--validate=warn")
	if err != nil {
		t.Fatalf("--validate=warn: %v\n%s", err, stderr)
	}
	if want := `Warning: unknown field "spec.branch"`; !strings.Contains(stderr, want) {
		t.Errorf("kubectl printed %q and %q, want the warning %q", stdout, stderr, want)
	}
}

func TestDeploymentNameIsImmutable(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))

	stderr := framework.KubectlRefused(t, "", "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p",
		`{"spec":{"deploymentName":"other"}}`)
	want := `The Website "kubia" is invalid: spec.deploymentName: Invalid value: "other": field is immutable`
	if !strings.Contains(stderr, want) {
		t.Errorf("kubectl printed\n%s\nwant\n%s", stderr, want)
	}
}
