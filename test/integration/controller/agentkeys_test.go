package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestAgentKeys: the controller keeps the keys for requests to agents in a Secret, and publishes
// the public ones to the agents in each namespace with Websites. Deleted or unreadable keys are
// replaced in both places.
func TestAgentKeys(t *testing.T) {
	stopController(t)
	framework.StartController(t, app.Instruments{AgentKeysPeriod: time.Second},
		append(controllerFlags(t), "--commit-observation=None")...)
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t).Kubernetes
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitAvailable(t, w, 1)
	secrets := client.CoreV1().Secrets("website-system")
	published := func(before string) (keys string) {
		framework.WaitFor(t, "the agents get public keys", func(ctx context.Context) error {
			configMap, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "website-agent-keys", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if keys = configMap.Data[requests.KeysFile]; keys == "" || keys == before {
				return fmt.Errorf("the keys are %q", keys)
			}
			_, err = requests.ParsePublicKeys([]byte(keys))
			return err
		})
		return keys
	}
	keys := published("")
	for what, change := range map[string]func() error{
		"deleted": func() error { return secrets.Delete(ctx, "website-controller-keys", metav1.DeleteOptions{}) },
		"unreadable": func() error {
			secret, err := secrets.Get(ctx, "website-controller-keys", metav1.GetOptions{})
			if err != nil {
				return err
			}
			secret.Data = map[string][]byte{"keys.json": []byte("nonsense")}
			_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
			return err
		},
	} {
		if err := change(); err != nil {
			t.Fatal(errors.Join(fmt.Errorf("keys that are %s", what), err))
		}
		keys = published(keys)
	}
	secret, err := secrets.Get(ctx, "website-controller-keys", metav1.GetOptions{})
	if err != nil || secret.Type != corev1.SecretTypeOpaque {
		t.Errorf("the Secret is %+v, %v", secret, err)
	}

	// The ConfigMap is repaired, and removed with the last Website.
	configMaps := client.CoreV1().ConfigMaps(namespace)
	another := framework.MustCreate(t, framework.NewV1alpha1(namespace, "another"))
	framework.WaitAvailable(t, another, 1)
	if err := configMaps.Delete(ctx, "website-agent-keys", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	published("")
	deleteWebsite := func(name string) {
		if err := framework.Websites(t, namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	deleteWebsite("kubia")
	framework.WaitFor(t, "the children of kubia are deleted", func(ctx context.Context) error {
		_, err := client.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("there is the Deployment"))
	})
	if published("") != keys {
		t.Error("the keys of the other Website have changed")
	}
	deleteWebsite("another")
	framework.WaitFor(t, "the keys are removed with the last Website", func(ctx context.Context) error {
		_, err := configMaps.Get(ctx, "website-agent-keys", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("they are there"))
	})
}
