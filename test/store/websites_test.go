package store

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/test/framework"
)

const namespace = metav1.NamespaceDefault

// childrenOfEach is the number of children of a Website with one replica: Deployment, Service, and
// the ConfigMap of nginx.
const childrenOfEach = 3

func websiteName(i int) string { return fmt.Sprintf("w%d", i) }

// create creates the Websites with the numbers from, from+1, ... to-1.
func (e *environment) create(t *testing.T, from, to int) {
	t.Helper()
	client := e.websites.WebsiteV1beta1().Websites(namespace)
	for i := from; i < to; i++ {
		// After a restart of website-apiserver, kube-apiserver rejects requests for the group until it
		// has checked the APIService.
		framework.WaitFor(t, "Website "+websiteName(i)+" is created", func(ctx context.Context) error {
			_, err := client.Create(ctx, framework.NewWebsite(namespace, websiteName(i)), metav1.CreateOptions{})
			switch {
			case apierrors.IsAlreadyExists(err):
				return nil
			case err != nil && !apierrors.IsServiceUnavailable(err):
				t.Fatal(err)
			}
			return err
		})
	}
}

// createAndReconcile creates Websites as create does, and waits for the children of all.
func (e *environment) createAndReconcile(t *testing.T, from, to int) {
	t.Helper()
	e.create(t, from, to)
	framework.WaitFor(t, "the Websites have their children", func(ctx context.Context) error {
		children, err := e.children(ctx)
		if err == nil && len(children) != to*childrenOfEach {
			err = fmt.Errorf("%d children of %d Websites", len(children), to)
		}
		return err
	})
}

// child is an object that a Website owns.
type child struct{ resource, name, website string }

// index returns the number of the Website that owns the child.
func (c child) index(t *testing.T) int {
	t.Helper()
	i, err := strconv.Atoi(strings.TrimPrefix(c.website, "w"))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// childResources are the resources that children lists.
var childResources = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "configmaps"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

// children returns all objects that Websites own, by UID, except those being deleted.
func (e *environment) children(ctx context.Context) (map[types.UID]child, error) {
	children := map[types.UID]child{}
	for _, resource := range childResources {
		list, err := e.metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			if owner := metav1.GetControllerOf(&item); owner != nil && owner.Kind == "Website" && item.DeletionTimestamp == nil {
				children[item.UID] = child{resource.Resource, item.Name, owner.Name}
			}
		}
	}
	return children, nil
}

func (e *environment) mustHaveChildren(t *testing.T) map[types.UID]child {
	t.Helper()
	children, err := e.children(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return children
}

// unharmed fails the test unless the same objects exist as before.
func (e *environment) unharmed(t *testing.T, before map[types.UID]child) {
	t.Helper()
	after := e.mustHaveChildren(t)
	lost := 0
	for uid, c := range before {
		if _, ok := after[uid]; !ok {
			lost++
			t.Errorf("%s %s of Website %s was deleted", c.resource, c.name, c.website)
		}
	}
	t.Logf("%d of %d children deleted", lost, len(before))
	if !maps.Equal(before, after) && lost == 0 {
		t.Errorf("%d children before, %d after", len(before), len(after))
	}
}

// opens waits until Websites can be written again, and compares them with the created ones.
func (e *environment) opens(t *testing.T, count int) {
	t.Helper()
	start := time.Now()
	client := e.websites.WebsiteV1beta1().Websites(namespace)
	framework.WaitWithin(t, openTimeout, "a Website can be written again", func(ctx context.Context) error {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"written-at":"%d"}}}`, time.Now().UnixNano())
		_, err := client.Patch(ctx, websiteName(0), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
	t.Logf("writes succeed %.1fs after the right store is back", time.Since(start).Seconds())
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := sets.New[string]()
	for _, w := range list.Items {
		got.Insert(w.Name)
	}
	for i := range count {
		if !got.Has(websiteName(i)) {
			t.Errorf("Website %s is lost", websiteName(i))
		}
	}
}

// haveChildren waits until exactly these children exist.
func (e *environment) haveChildren(t *testing.T, want map[types.UID]child) {
	t.Helper()
	framework.WaitFor(t, "the children are those expected", func(ctx context.Context) error {
		got, err := e.children(ctx)
		if err == nil && !maps.Equal(got, want) {
			err = fmt.Errorf("%d children, want %d", len(got), len(want))
		}
		return err
	})
}
