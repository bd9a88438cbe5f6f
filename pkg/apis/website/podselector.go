package website

// LabelDeployment is the label that names the Deployment on every pod.
const LabelDeployment = GroupName + "/deployment"

// PodSelectorLabels returns the labels that select the pods of a Website's Deployment. Its name is unique in the
// namespace: the pods of a Deployment that outlived an earlier Website of the same name have another value.
func PodSelectorLabels(deploymentName string) map[string]string {
	return map[string]string{LabelDeployment: deploymentName}
}
