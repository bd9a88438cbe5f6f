package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

// start brings the processes up, in stages: what is in a stage needs only earlier stages.
func (c *Cluster) start(ctx context.Context) error {
	options, plan := c.plan.options, c.plan
	kubernetesStages := [][]spec{{plan.etcd()}, {plan.kubeAPIServer(kubeAPIServer, plan.settings.Ports.APIServer)}, {plan.kubeControllerManager(), plan.kubeScheduler()}}
	if options.Node == NodeSimulated {
		kubernetesStages[2] = append(kubernetesStages[2], plan.kwok())
	}
	var nodeStages [][]spec
	if options.Node == NodeReal {
		nodeStages = plan.nodeStages(func() int { return c.Process(nodeInit).PID() })
	}
	var store, server, controller, gateway []spec
	if options.Gateway {
		gateway = []spec{plan.traefik(func() int { return c.Process(nodeInit).PID() })}
	}
	if options.ExternalEtcd {
		store = plan.websiteEtcd()
	}
	if options.Node == NodeSimulated {
		server = plan.websiteAPIServers()
	}
	if options.Node == NodeSimulated && !options.WithoutController {
		controller = []spec{plan.websiteController(websiteController, plan.settings.Ports.WebsiteController)}
	}
	if err := c.reconcile(ctx, slices.Concat(kubernetesStages, nodeStages, [][]spec{gateway, store, server, controller})); err != nil {
		return err
	}

	for _, stage := range kubernetesStages {
		if err := c.startStage(ctx, stage); err != nil {
			return err
		}
	}
	config, err := c.AdminConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	if options.Node == NodeReal {
		if err := c.startNode(ctx, client, nodeStages); err != nil {
			return err
		}
	}
	if err := c.readyForPods(ctx, client); err != nil {
		return err
	}
	if options.Gateway {
		if err := c.startGateway(ctx, gateway); err != nil {
			return err
		}
	}
	if options.WithoutProduct {
		return c.crashed()
	}
	registration, err := aggregator.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	if options.Node == NodeReal {
		if err := c.install(ctx, client, registration); err != nil {
			return err
		}
		return c.crashed()
	}
	if err := c.applyRoles(ctx, client); err != nil {
		return err
	}
	if err := c.startStage(ctx, store); err != nil {
		return err
	}
	if err := c.startStage(ctx, server); err != nil {
		return err
	}
	if err := c.startBalancer(); err != nil {
		return err
	}
	if err := c.register(ctx, client, registration); err != nil {
		return err
	}
	if err := c.startStage(ctx, controller); err != nil {
		return err
	}
	return c.crashed()
}

// reconcile stops what is outdated or no longer wanted, and checks the ports of what will be
// started, so that a port in use does not leave a half-started cluster.
func (c *Cluster) reconcile(ctx context.Context, stages [][]spec) error {
	recorded, err := recordedNames(c.plan.layout)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, stage := range stages {
		for _, s := range stage {
			wanted[s.name] = true
			if err := c.add(s).adopt(); err != nil {
				return err
			}
		}
	}
	// What runs in the node ends with it.
	first := c.Process(nodeInit)
	nodeEnds := first == nil || !first.Running() || first.outdated() != ""
	for _, name := range recorded {
		p, why := c.Process(name), ""
		switch {
		case wanted[name] && !p.Running():
			c.progress.printf("%s: has ended since the last run, starting it (log: %s)", name, p.LogFile())
			continue
		case wanted[name] && p.spec.within != nil && nodeEnds:
			why = "its node restarts"
		case wanted[name]:
			why = p.outdated()
		default:
			p = &Process{spec: spec{name: name}, layout: c.plan.layout}
			if err := p.adopt(); err != nil {
				return err
			}
			why = "it is not part of this cluster"
		}
		if why == "" {
			continue
		}
		c.progress.printf("%s: stopping it, because %s", name, why)
		if err := p.Stop(ctx); err != nil {
			return err
		}
	}
	for _, stage := range stages {
		for _, s := range stage {
			if c.Process(s.name).Running() {
				continue
			}
			for _, port := range s.ports {
				if err := checkPort(port.use, port.number); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// startStage starts what does not run yet and waits until all of the stage is ready.
func (c *Cluster) startStage(ctx context.Context, stage []spec) error {
	if len(stage) == 0 {
		return nil
	}
	var names []string
	running := map[string]bool{}
	for _, s := range stage {
		names = append(names, s.name)
		running[s.name] = c.Process(s.name).Running()
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
		how := "ready"
		if running[name] {
			how = "kept"
		}
		results = append(results, fmt.Sprintf("%s (pid %d)", how, p.PID()))
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
	err := c.await(ctx, "the cluster to take pods", DefaultReadyTimeout, func(ctx context.Context) error {
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
	_, stderr, err := c.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--field-manager="+fieldManager, "-k", directory)
	if err != nil {
		return step.failed(fmt.Errorf("applying %s: %w: %s", directory, err, strings.TrimSpace(stderr)))
	}
	if err := applyService(ctx, client, c.plan.servicePort()); err != nil {
		return step.failed(err)
	}
	step.done("applied %s", directory)
	return nil
}

// register connects website-apiserver to kube-apiserver.
func (c *Cluster) register(ctx context.Context, client kubernetes.Interface, registration aggregator.Interface) error {
	step := c.progress.step("APIService")
	if err := applyAPIServices(ctx, registration, c.credentials.serving.certPEM, c.plan.servicePort()); err != nil {
		return step.failed(err)
	}
	err := c.await(ctx, "the website API to be available", DefaultReadyTimeout, func(ctx context.Context) error {
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

// forgetDiscovery has kubectl discover the website API: before it existed, kubectl cached what
// there was, and would not find its short names.
func (c *Cluster) forgetDiscovery() error {
	if err := os.RemoveAll(c.plan.layout.kubectlCache()); err != nil {
		return fmt.Errorf("forgetting what kubectl has discovered: %w", err)
	}
	return nil
}
