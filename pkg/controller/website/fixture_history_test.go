package website

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// writes describes every write since the history was forgotten: "create" is an
// apply without force, "update" one with force and UID.
func (f *fixture) writes() []string {
	f.Helper()
	var all []string
	for _, action := range f.kube.Actions() {
		if slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
			continue
		}
		if deletion, ok := action.(clienttesting.DeleteActionImpl); ok {
			if conditions := deletion.DeleteOptions.Preconditions; conditions == nil || conditions.UID == nil {
				f.Errorf("%s %s is deleted whatever its UID", action.GetResource().Resource, deletion.Name)
			}
			all = append(all, fmt.Sprintf("delete %s %s", action.GetResource().Resource, deletion.Name))
			continue
		}
		patch, ok := action.(clienttesting.PatchActionImpl)
		if !ok {
			f.Errorf("unexpected %s of %s", action.GetVerb(), action.GetResource().Resource)
			continue
		}
		var sent struct {
			Kind     string            `json:"kind"`
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := json.Unmarshal(patch.Patch, &sent); err != nil {
			f.Fatal(err)
		}
		if patch.PatchOptions.FieldManager != "website-controller" {
			f.Errorf("%s %s was written as %q", sent.Kind, patch.Name, patch.PatchOptions.FieldManager)
		}
		force := ptr.Deref(patch.PatchOptions.Force, false)
		if force != (sent.Metadata.UID != "") {
			f.Errorf("%s %s: force is %t and the UID is %q; they belong together", sent.Kind, patch.Name, force,
				sent.Metadata.UID)
		}
		if force == (sent.Metadata.ResourceVersion != "") {
			f.Errorf("%s %s: force is %t and the resource version is %q; a create must be nothing but a create", sent.Kind,
				patch.Name, force, sent.Metadata.ResourceVersion)
		}
		verb := "create"
		if force {
			verb = "update"
		}
		all = append(all, fmt.Sprintf("%s %s %s", verb, sent.Kind, patch.Name))
	}
	for _, action := range f.websites.Actions() {
		if slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
			continue
		}
		update, ok := action.(clienttesting.UpdateActionImpl)
		if !ok || update.Subresource != "status" {
			f.Errorf("unexpected %s of %s", action.GetVerb(), action.GetResource().Resource)
			continue
		}
		website := update.Object.(*v1beta1.Website)
		all = append(all, fmt.Sprintf("status %s %d", website.Name, website.Status.AvailableReplicas))
	}
	return all
}

// requests lists every request since the history was forgotten.
func (f *fixture) requests() []string {
	var all []string
	for _, action := range slices.Concat(f.kube.Actions(), f.websites.Actions()) {
		all = append(all, action.GetVerb()+" "+action.GetResource().Resource)
	}
	return all
}

// childWrites is writes without status updates.
func (f *fixture) childWrites() []string {
	f.Helper()
	return slices.DeleteFunc(f.writes(), func(write string) bool { return strings.HasPrefix(write, "status ") })
}
