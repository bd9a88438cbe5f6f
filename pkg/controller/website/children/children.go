package children

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// Children reads and writes the children of all Websites, by kind.
type Children struct {
	ConfigMaps           *ConfigMaps
	AgentConfigMaps      *Kind[*corev1.ConfigMap, *corev1ac.ConfigMapApplyConfiguration]
	Deployments          *Kind[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]
	Services             *Kind[*corev1.Service, *corev1ac.ServiceApplyConfiguration]
	PodDisruptionBudgets *Kind[*policyv1.PodDisruptionBudget, *policyv1ac.PodDisruptionBudgetApplyConfiguration]
	Takeover             *Takeover
}

// New returns what reads and writes children. The informers are those of the
// children; whoever made them starts them.
func New(kube kubernetes.Interface, informers kubeinformers.SharedInformerFactory, owners Owners) (*Children, error) {
	core, policy := informers.Core().V1(), informers.Policy().V1()
	configMaps, err := newConfigMaps(kube, informers, owners)
	if err != nil {
		return nil, err
	}
	deployments := newKind("Deployment", owners, informers.Apps().V1().Deployments().Informer(), kube.AppsV1().Deployments, appsv1ac.ExtractDeployment)
	return &Children{
		ConfigMaps: configMaps,
		// They are small, and kept as they are.
		AgentConfigMaps: newKind("ConfigMap", owners, core.ConfigMaps().Informer(), kube.CoreV1().ConfigMaps, corev1ac.ExtractConfigMap),
		Deployments:     deployments,
		Takeover:        &Takeover{deployments: deployments, kube: kube},
		Services:        newKind("Service", owners, core.Services().Informer(), kube.CoreV1().Services, corev1ac.ExtractService),
		PodDisruptionBudgets: newKind("PodDisruptionBudget", owners, policy.PodDisruptionBudgets().Informer(),
			kube.PolicyV1().PodDisruptionBudgets, policyv1ac.ExtractPodDisruptionBudget),
	}, nil
}
