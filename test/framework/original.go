package framework

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

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

// originalField is the field manager of the original controller.
const originalField = "original"

// originalNginx is the nginx configuration in the pods of the original controller, for port 80. A
// header reports the served commit to the visitors of the tests.
const originalNginx = `pid /tmp/nginx.pid; error_log stderr;
events {}
http {
  access_log off; client_body_temp_path /tmp/body; proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi; uwsgi_temp_path /tmp/uwsgi; scgi_temp_path /tmp/scgi;
  server {
    listen 80;
    root /git/current;
    location / { try_files $uri $uri.html $uri/index.html =404; add_header Website-Commit %s; }
  }
}
`

// originalFetch fetches a repository once, then waits for SIGTERM.
const originalFetch = `trap "exit 0" TERM
until git clone --quiet --depth=1 "$1" /git/fetched; do sleep 1; done
mv /git/fetched /git/current
sleep infinity & wait`

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

// Create creates Deployment and Service as the original controller does, with pods that serve
// pages on the real node.
func (o OriginalSite) Create(t *testing.T) {
	t.Helper()
	namespace, website := o.Website.GetNamespace(), o.Website.GetName()
	meta := func(name, app string) metav1.ObjectMeta {
		object := metav1.ObjectMeta{Name: name, Namespace: namespace,
			Labels: map[string]string{"app": app, "controller": website}}
		if o.Website.GetUID() != "" {
			object.OwnerReferences = []metav1.OwnerReference{
				*metav1.NewControllerRef(o.Website, v1alpha1.SchemeGroupVersion.WithKind("Website")),
			}
		}
		return object
	}
	ctx, client, options := t.Context(), Admin(t).Kubernetes, metav1.CreateOptions{FieldManager: originalField}
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: o.Deployment + "-original"},
		Data:       map[string]string{"nginx.conf": fmt.Sprintf(originalNginx, o.Commit)},
	}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, config, options); err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: meta(o.Deployment, "website-nginx"), Spec: appsv1.DeploymentSpec{
		Replicas: &o.Replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "website-nginx",
			"controller": website}},
	}}
	deployment.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: deployment.Labels},
		Spec: originalPod(o.Repository, config.Name)}
	if _, err := client.AppsV1().Deployments(namespace).Create(ctx, deployment, options); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: meta(o.Deployment+"-npsvc", "website"),
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: deployment.Labels, Ports: []corev1.ServicePort{
			{Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(80)},
		}},
	}
	if _, err := client.CoreV1().Services(namespace).Create(ctx, service, options); err != nil {
		t.Fatal(err)
	}
}

// originalPod runs two ordinary containers that end at once. They request as much CPU as the pods
// of website-controller, as they would not be scheduled beside these on a busy machine otherwise.
func originalPod(repository, config string) corev1.PodSpec {
	requests := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}
	return corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			FSGroup: ptr.To[int64](65533), Sysctls: []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}},
		},
		Containers: []corev1.Container{{
			Name: "nginx", Image: images.Nginx, Command: []string{"nginx"},
			Args:  []string{"-e", "stderr", "-c", "/etc/original/nginx.conf", "-g", "daemon off;"},
			Ports: []corev1.ContainerPort{{ContainerPort: 80}}, Resources: requests,
			VolumeMounts: []corev1.VolumeMount{
				{Name: "git", MountPath: "/git", ReadOnly: true}, {Name: "config", MountPath: "/etc/original"},
			},
		}, {
			Name: "git-sync", Image: images.GitSync, Resources: requests,
			Command:      []string{"sh", "-c", originalFetch, "sh", repository},
			VolumeMounts: []corev1.VolumeMount{{Name: "git", MountPath: "/git"}},
		}},
		Volumes: []corev1.Volume{
			{Name: "git", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{
				Name: "config", VolumeSource: corev1.VolumeSource{
					ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}},
				},
			},
		},
	}
}
