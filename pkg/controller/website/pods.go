package website

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

// probeWorkers is the number of pods that are probed concurrently, probeShare the number per
// namespace: pods that do not respond hold a worker.
const (
	probeWorkers = 40
	probeShare   = 10
)

// websitePods are the pods of Websites, and the observations of their probes.
type websitePods struct {
	index    cache.Indexer
	websites websitelisters.WebsiteLister
	// prober is nil when commit observation is disabled.
	prober *podprobe.Prober
	queue  *queue.Queue
	// omitAuthors leaves out the authors of commits.
	omitAuthors bool
	memory      *memory
}

// of returns the pods of a Website with their observations, sorted by name.
func (p *websitePods) of(website *v1beta1.Website) []status.Pod {
	var pods []status.Pod
	for _, pod := range p.labelled(website) {
		if pod.Deployment != resources.DeploymentName(website) {
			continue
		}
		known := status.Pod{Pod: pod, Ready: workload.IsReady(pod)}
		if p.prober != nil {
			known.Observation, known.Observed = p.prober.Observation(pod.UID)
			if p.omitAuthors {
				known.Author = ""
			}
		}
		pods = append(pods, known)
	}
	slices.SortFunc(pods, func(a, b status.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// labelled returns the pods whose labels name a Website.
func (p *websitePods) labelled(website metav1.Object) []*cached.Pod {
	return cached.Indexed[*cached.Pod](p.index, byWebsite, cache.MetaObjectToName(website).String())
}

// probe probes a pod if its Website exists. Its labels alone prove nothing.
func (p *websitePods) probe(pod *cached.Pod) {
	if p.prober == nil || !p.queue.Running.Load() {
		return
	}
	key := pod.Website
	website, err := p.websites.Websites(key.Namespace).Get(key.Name)
	if err == nil && pod.Deployment == resources.DeploymentName(website) {
		p.prober.Probe(key, pod)
		if p.exists(pod) {
			return
		}
		// The pod may have been deleted meanwhile, and its event handled before.
	}
	p.prober.Forget(pod.UID)
}

// exists reports whether the cache has a pod.
func (p *websitePods) exists(pod *cached.Pod) bool {
	obj, exists, err := p.index.Get(pod)
	current, ok := obj.(*cached.Pod)
	return err == nil && exists && ok && current.UID == pod.UID
}

// want makes the pods of a Website follow its spec.
func (p *websitePods) want(website *v1beta1.Website) {
	if p.prober == nil || !p.queue.Running.Load() {
		return
	}
	p.prober.Want(cache.MetaObjectToName(website), &podprobe.Wanted{
		UID: website.UID, Generation: website.Generation, Pin: resources.PinOf(website),
		Sync: p.memory.observe(website).SyncToken(website),
	})
}

// forget drops the desired state for the pods of a Website that is gone, or is being deleted.
func (p *websitePods) forget(website cache.ObjectName) {
	if p.prober != nil {
		p.prober.Want(website, nil)
	}
}

// firstSeen returns the time of the first observation of the current commit at a ready pod of a
// Website, or zero.
func (p *websitePods) firstSeen(input *status.Input) time.Time {
	for _, pod := range input.Pods {
		if pod.Ready && p.prober != nil {
			return p.prober.FirstSeen(cache.MetaObjectToName(input.Website), pod.Commit)
		}
	}
	return time.Time{}
}

// priority returns the priority of a Website whose pods have changed: a client may wait for their
// commit.
func (p *websitePods) priority(key cache.ObjectName) queue.Priority {
	website, err := p.websites.Websites(key.Namespace).Get(key.Name)
	return queue.ChangedIf(err == nil && (website.Spec.PinnedCommit() != website.Status.Commit &&
		website.Spec.Pin != nil || status.RunningSync(website.Status.Sync) != 0))
}

// probeAll probes pods that are older than their Website, such as orphans of a deleted one. It stops
// the probes when the Website is deleted.
func (p *websitePods) probeAll(website metav1.Object) {
	if p.prober == nil {
		return
	}
	for _, pod := range p.labelled(website) {
		p.probe(pod)
	}
}

// run probes pods until the context ends, and queues the Websites whose observed pods have changed.
func (p *websitePods) run(ctx context.Context) {
	for _, obj := range p.index.List() {
		if pod, ok := obj.(*cached.Pod); ok {
			p.probe(pod)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.prober.Run(ctx)
	}()
	for {
		select {
		case key := <-p.prober.Changes():
			p.queue.EnqueueAs(key, p.priority(key))
		case <-done:
			return
		}
	}
}

func (r *reconciler) ensureConfigMap(ctx context.Context, run *reconciliation) *problem.Problem {
	configMaps, desired := r.children.ConfigMaps, run.desired.configMap
	current, p := configMaps.FindUnlessNew(ctx, run.website, *desired.Name, run.isNew)
	if p != nil {
		return p
	}
	configMap, done, p := configMaps.Apply(ctx, run.website, current, desired)
	// Its creation needs no event: it is created together with the Deployment.
	if done != children.Created {
		r.events.ChildWritten(run.website, configMap, configMaps, done)
	}
	return p
}

// ensureAgentKeys writes the public keys for the agents of a namespace, unless they are unknown. In a
// namespace without Websites, it removes them.
func (r *reconciler) ensureAgentKeys(ctx context.Context, run *reconciliation) *problem.Problem {
	keys, namespace := "", run.key.Namespace
	if r.keys != nil {
		keys = r.keys.Public()
	}
	websites, err := r.websiteIndex.IndexKeys(cache.NamespaceIndex, namespace)
	switch {
	case err != nil:
		return nil // Only an index that does not exist is an error, and the informer has it.
	case len(websites) == 0:
		return r.children.AgentKeys.Delete(ctx, namespace)
	case keys != "":
		return r.children.AgentKeys.Apply(ctx, namespace, keys)
	}
	return nil
}

// ensureAgentConfigMap writes the configuration for the agents of one Website. It changes often, so
// it needs no events.
func (r *reconciler) ensureAgentConfigMap(ctx context.Context, run *reconciliation) *problem.Problem {
	configMaps, website, name := r.children.AgentConfigMaps, run.website, resources.AgentConfigMapName(run.website)
	if !resources.WantsAgentConfigMap(website) {
		_, p := configMaps.Delete(ctx, website, name)
		return p
	}
	current, p := configMaps.FindUnlessNew(ctx, website, name, run.isNew)
	if p != nil {
		return p
	}
	pin := ""
	if current != nil {
		pin = current.Pin
	}
	_, _, p = configMaps.Apply(ctx, website, current, resources.AgentConfigMap(website, pin))
	return p
}

func (r *reconciler) ensureDeployment(ctx context.Context, run *reconciliation) *problem.Problem {
	current, apply := run.input.Deployment, r.children.Deployments.Apply
	if current != nil {
		// The Deployment controller still updates its status, but no longer replaces its pods: the
		// status does not show that these are outdated.
		if p := r.children.Deployments.BeingDeleted(current); p != nil {
			return p
		}
	}
	if run.input.RolloutPending {
		apply = r.children.Deployments.ApplyRest
	}
	deployment, done, p := apply(ctx, run.website, current, run.desired.deployment)
	r.events.ChildWritten(run.website, deployment, r.children.Deployments, done)
	run.input.Deployment = deployment
	return p
}

// collectConfigMaps removes the configurations that no pod needs any more.
func (r *reconciler) collectConfigMaps(ctx context.Context, run *reconciliation) *problem.Problem {
	return r.children.ConfigMaps.Collect(ctx, run.website, run.input.Deployment, run.desired.configMap)
}
