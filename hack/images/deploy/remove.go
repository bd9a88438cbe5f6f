package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// disabledRegistration is the annotation of the Service that disables registration in
// running servers.
const disabledRegistration = group + "/registration=Disabled"

// remove removes the API from the cluster, and then deletes its servers. Without Websites, it
// deletes everything.
func (d *deployment) remove(ctx context.Context) error {
	if exists, err := d.checkNamespace(ctx); err != nil || !exists {
		if err == nil {
			d.report("there is no namespace %s: nothing is removed", systemNamespace)
		}
		return err
	}
	if _, err := d.kubectl(ctx, "", "get", "--raw=/apis/"+group+"/v1beta1"); err == nil {
		if err := d.removeSites(ctx); err != nil {
			return err
		}
	}
	left, read, err := d.sites(ctx)
	if err != nil {
		return err
	}
	empty := left == 0 && (read || d.all)
	if err := d.unregister(ctx, empty); err != nil {
		return err
	}
	d.report("the API is taken out of the cluster")
	manifests, err := d.kubectl(ctx, "", "kustomize", filepath.Join(d.dir, "artifacts", "default"))
	if err != nil {
		return err
	}
	var kept []string
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		if !strings.Contains("\n"+document+"\n", "\nkind: Namespace\n") {
			kept = append(kept, document)
		}
	}
	if _, err := d.kubectl(ctx, strings.Join(kept, "\n---\n"), "delete", "--ignore-not-found", "-f", "-"); err != nil {
		return err
	}
	// A server that was not running before may have registered the API meanwhile.
	if err := d.deleteAPIServices(ctx); err != nil {
		return err
	}
	d.report("artifacts/default is deleted")
	switch {
	case left > 0:
		fmt.Printf("\nSites that are kept, and keep serving: %d. The namespace %s has the store of their Websites.\n"+
			"To come back: make deploy. To remove them too: make deploy && make undeploy ALL=1\n", left, systemNamespace)
		return nil
	case !empty:
		fmt.Printf("\nThe API was not served, so there may be Websites. The namespace %s is kept, with their store.\n"+
			"To come back: make deploy. To remove it too: make undeploy ALL=1\n", systemNamespace)
		return nil
	}
	if _, err := d.kubectl(ctx, "", "delete", "namespace", systemNamespace, "--ignore-not-found",
		rolloutTimeout); err != nil {
		return err
	}
	d.report("namespace %s is deleted", systemNamespace)
	return nil
}

// unregister deletes the APIServices, by the command of the server.
func (d *deployment) unregister(ctx context.Context, empty bool) error {
	uninstall := []string{"exec", "--namespace=" + systemNamespace, "statefulset/website-apiserver", "--",
		"/website-apiserver", "uninstall"}
	// The wait protects the children of Websites. Without Websites it is not needed.
	if empty {
		uninstall = append(uninstall, "--minimum-age=0s")
	}
	d.report("taking the API out of the cluster; within 90 seconds of its installation, this waits while there are sites")
	_, failure := d.kubectl(ctx, "", uninstall...)
	if failure == nil {
		return nil
	}
	running, err := d.kubectl(ctx, "", "get", "pods", "--namespace="+systemNamespace,
		"--selector=app.kubernetes.io/name=website-apiserver", "--field-selector=status.phase=Running", "-o", "name")
	if err != nil {
		return err
	}
	if running != "" && !empty {
		return fmt.Errorf("%w\nThere may be sites, which need the wait of this command: run make undeploy again when the pod"+
			" is ready. If it does not become ready: kubectl --context=%s scale --namespace=%s"+
			" statefulset/website-apiserver --replicas=0, and make undeploy", failure, d.context, systemNamespace)
	}
	// APIServices without a server must not stay.
	_, err = d.kubectl(ctx, "", "annotate", "service", "--namespace="+systemNamespace, "website-apiserver", "--overwrite",
		disabledRegistration)
	if err != nil && !strings.Contains(err.Error(), "(NotFound)") {
		return err
	}
	return d.deleteAPIServices(ctx)
}

func (d *deployment) deleteAPIServices(ctx context.Context) error {
	_, err := d.kubectl(ctx, "", "delete", "apiservice", "--ignore-not-found", "v1beta1."+group, "v1alpha1."+group)
	return err
}

// removeSites deletes the Website of "make deploy", and with ALL=1 all others.
func (d *deployment) removeSites(ctx context.Context) error {
	args := []string{"delete", websites, "--namespace=" + siteNamespace, "--cascade=foreground",
		"--selector=" + managedBy + "=" + managedByDeploy}
	if d.all {
		args = []string{"delete", websites, "--all", "--all-namespaces", "--cascade=foreground"}
	}
	if _, err := d.kubectl(ctx, "", args...); err != nil {
		return err
	}
	d.report("%s deleted", map[bool]string{false: "the Website of make deploy is", true: "all Websites are"}[d.all])
	return nil
}

// sites returns the number of remaining sites, by Websites and by their Deployments, and whether
// Websites could be read.
func (d *deployment) sites(ctx context.Context) (left int, read bool, err error) {
	deployments, err := d.kubectl(ctx, "", "get", "deployments", "--all-namespaces", "-o", "name",
		"--selector="+managedBy+"=website-controller")
	if err != nil {
		return 0, false, err
	}
	objects, unread := d.kubectl(ctx, "", "get", websites, "--all-namespaces", "-o", "name")
	return max(len(strings.Fields(deployments)), len(strings.Fields(objects))), unread == nil, nil
}
