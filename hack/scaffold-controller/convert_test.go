package main

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/images"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

func deploymentOf(w *v1beta1.Website) (*appsv1ac.DeploymentApplyConfiguration, error) {
	return resources.Deployment(w, resources.Installation{Nginx: images.Nginx, GitSync: images.GitSync,
		Agent: images.Agent}, "{}")
}

// TestConvert: the result equals decoding the same JSON.
func TestConvert(t *testing.T) {
	w := testWebsite()
	deployment, err := deploymentOf(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ from, got, want any }{
		{deployment, &appsv1.Deployment{}, &appsv1.Deployment{}},
		{resources.Service(w), &corev1.Service{}, &corev1.Service{}},
		{resources.ConfigMap(w, "{}"), &corev1.ConfigMap{}, &corev1.ConfigMap{}},
	} {
		if err := convert(test.got, test.from); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(test.from)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, test.want); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(test.got)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(test.want)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) || reflect.ValueOf(test.got).Elem().IsZero() {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if err := convert(&corev1.Service{}, deployment); err == nil {
		t.Error("a Deployment is no Service")
	}
}

// BenchmarkConvert measures the comparison's additional cost per reconcile for its largest child.
func BenchmarkConvert(b *testing.B) {
	deployment, err := deploymentOf(testWebsite())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := convert(&appsv1.Deployment{}, deployment); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuild measures the part that website-controller and this controller share.
func BenchmarkBuild(b *testing.B) {
	w := testWebsite()
	for b.Loop() {
		if _, err := resources.NginxConfig(w, resources.Installation{}); err != nil {
			b.Fatal(err)
		}
		if _, err := deploymentOf(w); err != nil {
			b.Fatal(err)
		}
	}
}
