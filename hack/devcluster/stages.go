package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

// stages are the components of a cluster: the components of a stage depend on earlier stages only.
type stages struct {
	// runtime runs containers, before kube-apiserver is started.
	runtime, kubernetes                      [][]spec
	node, gateway, store, server, controller []spec
}

func (c *Cluster) stages() (s stages) {
	options, plan := c.plan.options, c.plan
	nodePID := func() int { return c.Process(nodeInit).PID() }
	s.kubernetes = [][]spec{
		{plan.etcd()},
		{plan.kubeAPIServer(kubeAPIServer, plan.settings.Ports.APIServer)},
		{plan.kubeControllerManager(), plan.kubeScheduler()},
	}
	if options.ExternalEtcd {
		s.store = plan.websiteEtcd()
	}
	if options.Gateway {
		s.gateway = []spec{plan.traefik(nodePID)}
	}
	if options.Node == NodeReal {
		s.runtime = [][]spec{{plan.nodeInit(nodePID)}, {plan.nodeGateway(), plan.containerd(nodePID)}}
		s.node = []spec{plan.gitServer(), plan.coreDNS(), plan.kubelet(nodePID), plan.kubeProxy(nodePID)}
		return s
	}
	s.kubernetes[2] = append(s.kubernetes[2], plan.kwok())
	s.server = plan.websiteAPIServers()
	if !options.WithoutController {
		s.controller = []spec{plan.websiteController(websiteController, plan.settings.Ports.WebsiteController)}
	}
	return s
}

// all returns the components, in the order in which they start.
func (s stages) all() []spec {
	return slices.Concat(slices.Concat(s.runtime...), slices.Concat(s.kubernetes...), s.node, s.gateway, s.store,
		s.server, s.controller)
}

// start stops the processes of an earlier Up and starts the processes of the cluster, stage by stage.
func (c *Cluster) start(ctx context.Context) error {
	options, stages := c.plan.options, c.stages()
	if err := stopRecorded(ctx, c.plan.layout, c.progress.printf); err != nil {
		return err
	}
	for _, s := range stages.all() {
		c.add(s)
		// Ports are checked before the first start, so that a port in use does not leave a
		// half-started cluster.
		for _, port := range s.ports {
			if err := checkPort(port.use, port.number); err != nil {
				return err
			}
		}
	}

	if options.Node == NodeReal {
		if err := c.startRuntime(ctx, stages.runtime); err != nil {
			return err
		}
	}
	// Images are built while the control plane starts.
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.startStages(groupCtx, stages.kubernetes) })
	if options.Node == NodeReal {
		group.Go(func() error { return c.provideImages(groupCtx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	config := c.AdminConfig()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	if options.Node == NodeReal {
		if err := c.startStage(ctx, stages.node); err != nil {
			return err
		}
	}
	if err := c.readyForPods(ctx, client); err != nil {
		return err
	}
	if options.Gateway {
		if err := c.startGateway(ctx, stages.gateway); err != nil {
			return err
		}
	}
	if options.WithoutProduct {
		return c.Crash()
	}
	registration, err := aggregator.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	if options.Node == NodeReal {
		if err := c.install(ctx, client, registration); err != nil {
			return err
		}
		return c.Crash()
	}
	if err := c.applyRoles(ctx, client); err != nil {
		return err
	}
	if err := c.startStage(ctx, stages.store); err != nil {
		return err
	}
	if err := c.startStage(ctx, stages.server); err != nil {
		return err
	}
	if err := c.startBalancer(); err != nil {
		return err
	}
	if err := c.register(ctx, client, registration); err != nil {
		return err
	}
	if err := c.startStage(ctx, stages.controller); err != nil {
		return err
	}
	return c.Crash()
}

func (c *Cluster) startStages(ctx context.Context, stages [][]spec) error {
	for _, stage := range stages {
		if err := c.startStage(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

// startStage starts a stage and waits until all of it is ready.
func (c *Cluster) startStage(ctx context.Context, stage []spec) error {
	if len(stage) == 0 {
		return nil
	}
	var names []string
	for _, s := range stage {
		names = append(names, s.name)
	}
	step := c.progress.step(strings.Join(names, ", "))
	var results []string
	for _, name := range names {
		if err := c.Process(name).Start(ctx); err != nil {
			return step.failed(err)
		}
	}
	for _, name := range names {
		p := c.Process(name)
		step.set("waiting until %s is ready", name)
		if err := p.WaitReady(ctx); err != nil {
			return step.failed(err)
		}
		results = append(results, fmt.Sprintf("ready (pid %d)", p.PID()))
	}
	step.done("%s", strings.Join(results, ", "))
	return nil
}

// readyForPods waits until pods can be created and scheduled.
func (c *Cluster) readyForPods(ctx context.Context, client kubernetes.Interface) error {
	name := nodeName(c.plan.options.Node)
	step := c.progress.step("node")
	step.set("waiting until %s is Ready", name)
	if c.plan.options.Node == NodeSimulated {
		if err := applySimulatedNode(ctx, client); err != nil {
			return step.failed(err)
		}
	}
	err := c.await(ctx, "the cluster to take pods", func(ctx context.Context) error {
		if err := podsAdmitted(ctx, client); err != nil {
			return err
		}
		return nodeIsReady(ctx, client, name)
	})
	if err != nil {
		return step.failed(err)
	}
	step.done("%s is Ready", name)
	return nil
}

// applyRoles installs the ServiceAccounts and roles of the website components, and the
// Service of website-apiserver.
func (c *Cluster) applyRoles(ctx context.Context, client kubernetes.Interface) error {
	step := c.progress.step("roles")
	directory := filepath.Join(c.plan.options.RepoDir, "artifacts", "rbac")
	if _, err := c.kubectl(ctx, "", "apply", "--server-side", "--force-conflicts", "--field-manager="+fieldManager, "-k",
		directory); err != nil {
		return step.failed(err)
	}
	if err := applyService(ctx, client, websiteAPIServer, c.plan.servicePort()); err != nil {
		return step.failed(err)
	}
	step.done("applied %s", directory)
	return nil
}

// register connects website-apiserver to kube-apiserver.
func (c *Cluster) register(ctx context.Context, client kubernetes.Interface, registration aggregator.Interface) error {
	step := c.progress.step("APIService")
	for _, version := range websiteVersions {
		if err := applyAPIService(ctx, registration, websiteAPIServer, websiteGroup, version.name, version.priority,
			c.ServingCA(), c.plan.servicePort()); err != nil {
			return step.failed(err)
		}
	}
	err := c.await(ctx, "the website API to be available", func(ctx context.Context) error {
		return apiServicesAvailable(ctx, registration, client.Discovery())
	})
	if err != nil {
		return step.failed(err)
	}
	if err := c.forgetDiscovery(); err != nil {
		return step.failed(err)
	}
	step.done("%s is available", websiteGroup)
	return nil
}

// forgetDiscovery makes kubectl discover the website API: kubectl's earlier cache lacks it
// with its short names.
func (c *Cluster) forgetDiscovery() error {
	if err := os.RemoveAll(c.plan.layout.kubectlCache()); err != nil {
		return fmt.Errorf("removing kubectl's cached discovery: %w", err)
	}
	return nil
}
