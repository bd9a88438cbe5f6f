package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/images"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// newWebsite is the Website of all contenders. Its Service takes no node port: a
// cluster has 2,768.
func newWebsite(namespace, name string, replicas int) *v1beta1.Website {
	w := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta1.WebsiteSpec{
			DeploymentName: name,
			Replicas:       ptr.To(int32(replicas)),
			Source:         v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://git.example.com/site.git"}},
			Service:        v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP},
		},
	}
	v1beta1.SetObjectDefaults_Website(w)
	return w
}

// manifest is newWebsite as a user writes it: the server sets the defaults.
func manifest(apiVersion string, w *v1beta1.Website) ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": apiVersion, "kind": resources.Kind,
		"metadata": map[string]any{"name": w.Name},
		"spec": map[string]any{
			"deploymentName": w.Spec.DeploymentName, "replicas": w.Spec.Replicas,
			"source":  map[string]any{"git": map[string]any{"repository": w.Spec.Source.Git.Repository}},
			"service": map[string]any{"type": w.Spec.Service.Type},
		},
	})
}

func websitesPath(apiVersion, namespace string) string {
	return "/apis/" + apiVersion + "/namespaces/" + namespace + "/websites"
}

// createWebsite creates a Website in the namespace of the trial.
func (t *trial) createWebsite(ctx context.Context, name string) error {
	return t.createWebsiteIn(ctx, t.namespace, name)
}

func (t *trial) createWebsiteIn(ctx context.Context, namespace, name string) error {
	body, err := manifest(t.contender.apiVersion, newWebsite(namespace, name, t.Options.Replicas))
	if err != nil {
		return fmt.Errorf("encoding a Website: %w", err)
	}
	_, err = t.request(ctx, http.MethodPost, websitesPath(t.contender.apiVersion, namespace), measure.JSON, body)
	return err
}

// createChildren creates the children that a controller creates for a Website, in the same order.
func (t *trial) createChildren(ctx context.Context, name string) error {
	w := newWebsite(t.namespace, name, t.Options.Replicas)
	installation := resources.Installation{Nginx: images.Nginx, GitSync: images.GitSync, Agent: images.Agent}
	config, err := resources.NginxConfig(w, installation)
	if err != nil {
		return fmt.Errorf("rendering the nginx configuration: %w", err)
	}
	deployment, err := resources.Deployment(w, installation, config)
	if err != nil {
		return fmt.Errorf("building the Deployment: %w", err)
	}
	nginx, agent, service := resources.ConfigMap(w, config), resources.AgentConfigMap(w, ""), resources.Service(w)
	// Garbage collection would delete what belongs to a Website that does not exist.
	for _, meta := range []*metav1ac.ObjectMetaApplyConfiguration{
		nginx.ObjectMetaApplyConfiguration, agent.ObjectMetaApplyConfiguration,
		deployment.ObjectMetaApplyConfiguration, service.ObjectMetaApplyConfiguration,
	} {
		meta.OwnerReferences = nil
	}
	for _, child := range []struct {
		group, resource string
		manifest        any
	}{
		{"/api/v1", "configmaps", nginx}, {"/api/v1", "configmaps", agent},
		{"/apis/apps/v1", "deployments", deployment}, {"/api/v1", "services", service},
	} {
		body, err := json.Marshal(child.manifest)
		if err != nil {
			return fmt.Errorf("encoding a child: %w", err)
		}
		if _, err := t.request(ctx, http.MethodPost, child.group+"/namespaces/"+t.namespace+"/"+child.resource, measure.JSON,
			body); err != nil {
			return err
		}
	}
	return nil
}

// patchPin changes spec.pin, which replaces no pod: a controller writes a ConfigMap and the
// status. Each i is another pin. It returns the new generation.
func (t *trial) patchPin(ctx context.Context, name string, i int) (int64, error) {
	body := fmt.Appendf(nil, `{"spec":{"pin":{"commit":"%040x"}}}`, i+1)
	data, err := t.request(ctx, http.MethodPatch, t.websites+"/"+name, measure.MergePatch, body)
	if err != nil {
		return 0, err
	}
	var changed website
	if err := json.Unmarshal(data, &changed); err != nil {
		return 0, fmt.Errorf("decoding a Website: %w", err)
	}
	return changed.Metadata.Generation, nil
}

// deleteNamespace deletes a namespace and waits until all of it is gone.
func (t *trial) deleteNamespace(ctx context.Context, name string) error {
	path := "/api/v1/namespaces/" + name
	if _, err := t.request(ctx, http.MethodDelete, path, "", nil); err != nil {
		return err
	}
	return await(ctx, "the namespace is deleted", t.patience(), func() error {
		exists, err := t.exists(ctx, "/api/v1/namespaces", name)
		if err == nil && exists {
			err = fmt.Errorf("namespace %s is still there", name)
		}
		return err
	})
}

// exists reports whether the list at a path has an object of a name. A GET of it would fail without one.
func (t *trial) exists(ctx context.Context, path, name string) (bool, error) {
	list, err := t.request(ctx, http.MethodGet, path+"?fieldSelector=metadata.name%3D"+name, "", nil)
	if err != nil {
		return false, err
	}
	var found struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(list, &found); err != nil {
		return false, fmt.Errorf("decoding the list at %s: %w", path, err)
	}
	return len(found.Items) > 0, nil
}
