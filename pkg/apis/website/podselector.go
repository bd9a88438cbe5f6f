package website

const (
	// LabelController is the label that names the Website on every child and pod.
	LabelController = "controller"
	// LabelDeployment is the label that names the Deployment on every pod.
	LabelDeployment = GroupName + "/deployment"

	labelApp = "app"
	// podApp is the value of the label "app" on the pods.
	podApp = "website-nginx"
)

// PodSelectorLabels returns the labels that select the pods of a Website's
// Deployment. LabelDeployment makes them exact: the pods of a Deployment that
// outlived an earlier Website of the same name carry another value.
func PodSelectorLabels(websiteName, deploymentName string) map[string]string {
	return map[string]string{
		labelApp:        podApp,
		LabelController: websiteName,
		LabelDeployment: deploymentName,
	}
}
