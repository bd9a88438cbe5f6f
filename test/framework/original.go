package framework

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/controller/images"
)

// OriginalDefinition is the CustomResourceDefinition of the original controller.
const OriginalDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: websites.mycontroller.nevermosby.io}
spec:
  group: mycontroller.nevermosby.io
  names: {kind: Website, plural: websites}
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                deploymentName: {type: string}
                gitRepo: {type: string}
                replicas: {type: integer}
            status:
              type: object
              properties:
                availableReplicas: {type: integer}
`

// originalManifests are the objects of OriginalSite.
//
//go:embed original.yaml.tmpl
var originalManifests string

// OriginalSite holds the children that the original controller creates for a Website.
type OriginalSite struct {
	// Website owns Deployment and Service, unless it has no UID yet.
	Website metav1.Object
	// Deployment is the name of the Deployment.
	Deployment string
	Replicas   int32
	// Repository is the URL of a repository on the real node's git server, at Commit.
	Repository, Commit string
}

// Owners are the owner references of the children, as JSON.
func (o OriginalSite) Owners() (string, error) {
	owners := []metav1.OwnerReference{}
	if o.Website.GetUID() != "" {
		owners = append(owners, *metav1.NewControllerRef(o.Website, v1alpha1.SchemeGroupVersion.WithKind("Website")))
	}
	data, err := json.Marshal(owners)
	return string(data), err
}

// Nginx is the image of the container that serves pages.
func (OriginalSite) Nginx() string { return images.Nginx }

// GitSync is the image of the container that fetches the repository.
func (OriginalSite) GitSync() string { return images.GitSync }

// Create creates Deployment and Service as the original controller does, with pods that serve
// pages on the real node.
func (o OriginalSite) Create(t *testing.T) {
	t.Helper()
	var manifests strings.Builder
	if err := template.Must(template.New("original").Parse(originalManifests)).Execute(&manifests, o); err != nil {
		t.Fatal(err)
	}
	KubectlWith(t, Stdin(manifests.String()), "create", "--namespace="+o.Website.GetNamespace(),
		"--field-manager=original", "--filename=-")
}
