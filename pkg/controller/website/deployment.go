package website

import (
	"context"

	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// ensurePods applies the Deployment and the ConfigMaps of its pods. While the rollout is pending, the
// pods stay as they are.
func (r *reconciler) ensurePods(ctx context.Context, input *status.Input, desired desiredChildren) *problem.Problem {
	website, isFormer := input.Website, workload.IsFormer(input.Deployment)
	switch {
	case input.RolloutPending && isFormer:
		return nil
	case !input.RolloutPending:
		// The configuration is written before the pods, which would otherwise wait for it. If another
		// object has its name, the pods are not started.
		if p := r.ensureConfigMap(ctx, website, desired); p != nil {
			return p
		}
		if isFormer {
			if p := r.takeover.Prepare(ctx, input); p != nil {
				return p
			}
		}
	}
	// The configuration of agents is not part of the pod template, and also applies to existing pods.
	if p := r.ensureAgentKeys(ctx, website.Namespace); p != nil {
		return p
	}
	if p := r.ensureAgentConfigMap(ctx, website, desired); p != nil {
		return p
	}
	var p *problem.Problem
	input.Deployment, p = r.ensureDeployment(ctx, input, desired)
	return p
}

func (r *reconciler) ensureConfigMap(ctx context.Context, website *v1beta1.Website,
	desired desiredChildren) (p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepConfigMap)
	defer func() { end(p) }()

	current, p := findChild(ctx, r.children.ConfigMaps.Kind, website, desired, *desired.configMap.Name)
	if p != nil {
		return p
	}
	configMap, done, p := r.children.ConfigMaps.Apply(ctx, website, current, desired.configMap)
	metrics.RecordChildWrite(r.children.ConfigMaps, done)
	// Its creation needs no event: it is created together with the Deployment.
	if done != children.Created {
		r.events.ChildWritten(website, configMap, r.children.ConfigMaps, done)
	}
	return p
}

// ensureAgentKeys writes the public keys for the agents of a namespace, unless they are unknown. In a
// namespace without Websites, it removes them.
func (r *reconciler) ensureAgentKeys(ctx context.Context, namespace string) (p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepAgentKeys)
	defer func() { end(p) }()

	keys := ""
	if r.keys != nil {
		keys = r.keys.Public()
	}
	done := children.Unchanged
	websites, err := r.websiteIndex.IndexKeys(cache.NamespaceIndex, namespace)
	switch {
	case err != nil:
		return nil // Only an index that does not exist is an error, and the informer has it.
	case len(websites) == 0:
		done, p = r.children.AgentKeys.Delete(ctx, namespace)
	case keys != "":
		done, p = r.children.AgentKeys.Apply(ctx, namespace, keys)
	}
	metrics.RecordChildWrite(r.children.AgentConfigMaps, done)
	return p
}

// ensureAgentConfigMap writes the configuration for the agents of one Website. It changes often, so
// it needs no events.
func (r *reconciler) ensureAgentConfigMap(ctx context.Context, website *v1beta1.Website,
	desired desiredChildren) (p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepAgentConfigMap)
	defer func() { end(p) }()

	configMaps, name := r.children.AgentConfigMaps, resources.AgentConfigMapName(website)
	if !resources.WantsAgentConfigMap(website) {
		done, p := configMaps.Delete(ctx, website, name)
		metrics.RecordChildWrite(configMaps, done)
		return p
	}
	current, p := findChild(ctx, configMaps, website, desired, name)
	if p != nil {
		return p
	}
	pin := ""
	if current != nil {
		pin = current.Pin
	}
	_, done, p := configMaps.Apply(ctx, website, current, resources.AgentConfigMap(website, pin))
	metrics.RecordChildWrite(configMaps, done)
	return p
}

func (r *reconciler) ensureDeployment(ctx context.Context, input *status.Input,
	desired desiredChildren) (deployment *cached.Deployment, p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepDeployment)
	defer func() { end(p) }()

	if input.Deployment != nil {
		// The Deployment controller still updates its status, but no longer replaces its pods: the
		// status does not show that these are outdated.
		if p := r.children.Deployments.BeingDeleted(input.Deployment); p != nil {
			return input.Deployment, p
		}
	}
	apply := r.children.Deployments.Apply
	if input.RolloutPending {
		apply = r.children.Deployments.ApplyRest
	}
	deployment, done, p := apply(ctx, input.Website, input.Deployment, desired.deployment)
	metrics.RecordChildWrite(r.children.Deployments, done)
	r.events.ChildWritten(input.Website, deployment, r.children.Deployments, done)
	return deployment, p
}

// collectConfigMaps removes the configurations that no pod needs any more.
func (r *reconciler) collectConfigMaps(ctx context.Context, input *status.Input,
	desired desiredChildren) (p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepCollectConfigMaps)
	defer func() { end(p) }()

	done, p := r.children.ConfigMaps.Collect(ctx, input.Website, input.Deployment, desired.configMap)
	for _, operation := range done {
		metrics.RecordChildWrite(r.children.ConfigMaps, operation)
	}
	return p
}
