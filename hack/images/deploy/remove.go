package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// remove takes the API out of the cluster, and then deletes its servers. Without Websites, nothing is kept.
func (d *deployment) remove(ctx context.Context) error {
	if _, err := d.kubectl(ctx, "", "get", "--raw=/apis/"+group+"/v1beta1"); err == nil {
		if err := d.removeSites(ctx); err != nil {
			return err
		}
	}
	left, err := d.sites(ctx)
	if err != nil {
		return err
	}
	// The wait protects what Websites own. Without them there is nothing to protect.
	uninstall := []string{"exec", "--namespace=" + systemNamespace, "statefulset/website-apiserver", "--", "/website-apiserver", "uninstall"}
	if left == 0 {
		uninstall = append(uninstall, "--minimum-age=0s")
	}
	d.say("taking the API out of the cluster; within 90 seconds of its installation, this waits while there are sites")
	if _, err := d.kubectl(ctx, "", uninstall...); err != nil {
		// The pod may not run: the APIServices must not stay alone all the same.
		if _, err := d.kubectl(ctx, "", "delete", "apiservice", "--ignore-not-found", "v1beta1."+group, "v1alpha1."+group); err != nil {
			return err
		}
	}
	d.say("the API is taken out of the cluster")
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
	d.say("artifacts/default is deleted")
	if left > 0 {
		fmt.Printf("\nSites that are kept, and keep serving: %d. The namespace %s has the store of their Websites.\n"+
			"To come back: make deploy. To remove them too: make deploy && make undeploy ALL=1\n", left, systemNamespace)
		return nil
	}
	if _, err := d.kubectl(ctx, "", "delete", "namespace", systemNamespace, "--ignore-not-found", rolloutTimeout); err != nil {
		return err
	}
	d.say("namespace %s is deleted", systemNamespace)
	return nil
}

// removeSites deletes the Website of "make deploy", and with ALL=1 all others.
func (d *deployment) removeSites(ctx context.Context) error {
	args := []string{"delete", "website", siteName, "--namespace=" + siteNamespace, "--ignore-not-found", "--cascade=foreground"}
	if d.all {
		args = []string{"delete", "websites", "--all", "--all-namespaces", "--cascade=foreground"}
	}
	if _, err := d.kubectl(ctx, "", args...); err != nil {
		return err
	}
	d.say("%s deleted", map[bool]string{false: "website " + siteName + " is", true: "all Websites are"}[d.all])
	return nil
}

// sites is how many Deployments belong to Websites.
func (d *deployment) sites(ctx context.Context) (int, error) {
	out, err := d.kubectl(ctx, "", "get", "deployments", "--all-namespaces", "--selector=app.kubernetes.io/managed-by=website-controller", "-o", "name")
	return len(strings.Fields(out)), err
}
