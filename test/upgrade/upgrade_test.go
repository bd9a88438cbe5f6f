package upgrade

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestUpgrade upgrades a cluster from the previous release to this checkout and downgrades
// it, in the documented order: roles, every website-apiserver, every website-controller, and
// back in reverse order. No acknowledged write is lost, there is one leader at a time, and no
// child is replaced.
func TestUpgrade(t *testing.T) {
	dir := framework.PreviousRelease(t)
	current := programs{framework.BuildProgram(t, framework.Path(), "./cmd/apiserver"),
		framework.BuildProgram(t, framework.Path(), "./cmd/controller")}
	former := programs{filepath.Join(dir, "bin", "website-apiserver"), filepath.Join(dir, "bin", "website-controller")}
	for name, options := range map[string]devcluster.Options{
		"embedded etcd": {},
		"external etcd and two website-apiserver": {ExternalEtcd: true, APIServers: 2},
	} {
		t.Run(name, func(t *testing.T) {
			options.RepoDir, options.WithoutController = dir, true
			r := newRollout(t, options)
			children := r.children(t)

			r.applyRoles(t)
			r.replaceServers(t, current.server)
			r.load.check(t, "after the upgrade of the servers")
			r.setNewField(t)
			r.requireNewFieldKept(t, 61, "the former controller")
			r.replaceControllers(t, current.controller)
			r.load.check(t, "after the upgrade of the controllers")
			r.requireNewFieldKept(t, 62, "the current controller")

			r.replaceControllers(t, former.controller)
			r.replaceServers(t, former.server)
			r.load.check(t, "after the downgrade")
			if changes := r.leaderChanges(); changes < 2 {
				t.Errorf("the leader has changed %d times, want one for each release", changes)
			}
			if after := r.children(t); !maps.Equal(children, after) {
				t.Errorf("the Deployments and Services were %v, and are %v", children, after)
			}
		})
	}
}

// programs are the programs of one release.
type programs struct{ server, controller string }

// rollout is a cluster whose programs are replaced.
type rollout struct {
	cluster       *devcluster.Cluster
	clients       framework.Clients
	servers       []string
	controllers   []*devcluster.Process
	load          *load
	leaderChanges func() int
}

func newRollout(t *testing.T, options devcluster.Options) *rollout {
	t.Helper()
	r := &rollout{cluster: framework.StartCluster(t, options), servers: []string{"website-apiserver"}}
	if options.APIServers > 1 {
		r.servers = nil
		for name := range r.cluster.WebsiteAPIServers() {
			r.servers = append(r.servers, name)
		}
	}
	config := r.cluster.AdminConfig()
	r.clients = framework.NewClients(t, config)
	for _, name := range []string{"controller-a", "controller-b"} {
		controller, _, err := r.cluster.StartController(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		r.controllers = append(r.controllers, controller)
	}
	r.leaderChanges = framework.WatchLeader(t, r.clients.Kubernetes)
	r.load = startLoad(t, r.clients)
	framework.WaitFor(t, "each Website has its children", func(ctx context.Context) error {
		found, err := r.listChildren(ctx)
		if err == nil && len(found) != 2*sites {
			err = fmt.Errorf("there are %d", len(found))
		}
		return err
	})
	return r
}

func (r *rollout) listChildren(ctx context.Context) (map[string]types.UID, error) {
	managed := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=website-controller"}
	deployments, err := r.clients.Kubernetes.AppsV1().Deployments(namespace).List(ctx, managed)
	if err != nil {
		return nil, err
	}
	services, err := r.clients.Kubernetes.CoreV1().Services(namespace).List(ctx, managed)
	if err != nil {
		return nil, err
	}
	found := map[string]types.UID{}
	for _, deployment := range deployments.Items {
		found[deployment.Name] = deployment.UID
	}
	for _, service := range services.Items {
		found[service.Name] = service.UID
	}
	return found, nil
}

// children returns the UIDs of Deployments and Services.
func (r *rollout) children(t *testing.T) map[string]types.UID {
	t.Helper()
	found, err := r.listChildren(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// applyRoles applies the roles of this checkout, which later programs may need.
func (r *rollout) applyRoles(t *testing.T) {
	t.Helper()
	_, stderr, err := r.cluster.Kubectl(t.Context(), "apply", "--server-side", "--force-conflicts", "-k",
		framework.Path("artifacts", "rbac"))
	if err != nil {
		t.Fatalf("applying the roles: %v: %s", err, stderr)
	}
}

// replace runs another program in the place of a process.
func replace(t *testing.T, process *devcluster.Process, program string) {
	t.Helper()
	process.SetProgram(program)
	if err := process.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := process.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (r *rollout) replaceServers(t *testing.T, program string) {
	t.Helper()
	for _, name := range r.servers {
		replace(t, r.cluster.Process(name), program)
		if balancer := r.cluster.Balancer(); balancer != nil {
			framework.WaitFor(t, "requests reach "+name, func(context.Context) error {
				if ready := balancer.Ready(); len(ready) != len(r.servers) {
					return fmt.Errorf("only %v are ready", ready)
				}
				return nil
			})
		}
		// Some of the servers are of one release, and some of the other.
		r.load.check(t, "after the start of "+name)
	}
}

func (r *rollout) replaceControllers(t *testing.T, program string) {
	t.Helper()
	for _, controller := range r.controllers {
		replace(t, controller, program)
	}
}

// newHost is the value of a field that the former release does not have.
const newHost = "upgraded.example.test"

func (r *rollout) setNewField(t *testing.T) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"hosts":[{"name":%q}]}}`, newHost)
	if _, err := r.clients.Websites.WebsiteV1beta1().Websites(namespace).Patch(t.Context(), siteName(0),
		types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// requireNewFieldKept requires that a write of a user, and the controller's writes after it, keep the new field.
func (r *rollout) requireNewFieldKept(t *testing.T, periodSeconds int, controller string) {
	t.Helper()
	websites := r.clients.Websites.WebsiteV1beta1().Websites(namespace)
	patch := fmt.Appendf(nil, `{"spec":{"polling":{"periodSeconds":%d}}}`, periodSeconds)
	if _, err := websites.Patch(t.Context(), siteName(0), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, controller+" has observed a change", func(ctx context.Context) error {
		website, err := websites.Get(ctx, siteName(0), metav1.GetOptions{})
		if err == nil && website.Status.ObservedGeneration != website.Generation {
			err = fmt.Errorf("it has observed generation %d of %d", website.Status.ObservedGeneration, website.Generation)
		}
		return err
	})
	r.load.check(t, "with a new field and "+controller)
	website, err := websites.Get(t.Context(), siteName(0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(website.Spec.Hosts) != 1 || website.Spec.Hosts[0].Name != newHost {
		t.Errorf("%s has written, and spec.hosts is %+v", controller, website.Spec.Hosts)
	}
}
