package crdimport

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// serviceSuffix ends the names of Services of the original controller, after the name of the Deployment.
const serviceSuffix = "-npsvc"

// leftBehind returns the commands, one for each Website, that remove the Deployments and Services which the
// original controller has created for it under a former deploymentName. That controller does not remove them when
// the name changes.
func leftBehind(all []*website.Website, owned []store.OwnedObject) []string {
	names := map[types.UID]string{}
	for _, w := range all {
		names[w.UID] = w.Spec.DeploymentName
	}
	objects := map[types.NamespacedName][]string{}
	for _, object := range owned {
		current, ok := names[object.UID]
		if !ok || !object.Controlled {
			continue
		}
		key := types.NamespacedName{Namespace: object.Namespace, Name: object.Website}
		deployment, isService := strings.CutSuffix(object.Name, serviceSuffix)
		switch {
		case object.Resource == "deployments" && object.Name != current:
			objects[key] = append(objects[key], "deployment/"+object.Name)
		case object.Resource == "services" && isService && deployment != current:
			objects[key] = append(objects[key], "service/"+object.Name)
		}
	}
	var commands []string
	for _, key := range slices.SortedFunc(maps.Keys(objects), func(a, b types.NamespacedName) int {
		return strings.Compare(a.String(), b.String())
	}) {
		slices.Sort(objects[key])
		commands = append(commands, "kubectl delete -n "+key.Namespace+" "+strings.Join(objects[key], " "))
	}
	return commands
}
