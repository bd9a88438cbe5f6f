package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// condition is a condition of a Website.
type condition struct{ Type, Status, Reason, Message string }

const (
	// siteTimeout allows for nodes that pull the images of nginx and git-sync.
	siteTimeout = 3 * time.Minute
	// repositoryTimeout is the time for which a repository may be unreachable.
	repositoryTimeout = 20 * time.Second
)

// errRepository reports that another repository is needed.
var errRepository = errors.New("its pods cannot fetch the repository")

// publish creates the Website of artifacts/examples/hello.yaml, and prints how to open its page.
func (d *deployment) publish(ctx context.Context) error {
	manifest, repository, err := d.manifest()
	if err != nil {
		return err
	}
	exists, own, err := d.created(ctx, websites, siteName, "--namespace="+siteNamespace)
	switch {
	case err != nil:
		return err
	case exists && !own && d.repository != "":
		return fmt.Errorf("website %s in namespace %s was not created by make deploy, and does not get REPO."+
			" The installation is complete", siteName, siteNamespace)
	case exists && !own:
		d.report("website %s in namespace %s was not created by make deploy, and is kept as it is", siteName, siteNamespace)
		return nil
	}
	if _, err := d.kubectl(ctx, manifest, "apply", "--namespace="+siteNamespace, "-f", "-"); err != nil {
		return err
	}
	var failing time.Time
	err = poll(ctx, siteTimeout, func() error {
		out, err := d.kubectl(ctx, "", "get", websites, siteName, "--namespace="+siteNamespace, "-o", "json")
		if err != nil {
			return err
		}
		err = ready([]byte(out))
		switch {
		case !errors.Is(err, errRepository):
			failing = time.Time{}
		case failing.IsZero():
			failing = time.Now()
		case time.Since(failing) > repositoryTimeout:
			return stop{err}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("website %s publishes %s: %w\nThe installation is complete. To publish another repository: make "+
			"deploy REPO=https://git.example.com/site.git", siteName, repository, err)
	}
	d.report("website %s publishes %s", siteName, repository)
	fmt.Printf("\nTo open its page at http://127.0.0.1:8080:\n\n  kubectl --context=%s port-forward --namespace=%s "+
		"service/%s-npsvc 8080:80\n", d.context, siteNamespace, siteName)
	return nil
}

// manifest returns the Website, with the label of "make deploy", and its repository.
func (d *deployment) manifest() (manifest, repository string, err error) {
	data, err := os.ReadFile(filepath.Join(d.dir, "artifacts", "examples", "hello.yaml"))
	if err != nil {
		return "", "", err
	}
	lines := strings.SplitAfter(string(data), "\n")
	i := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "repository: ")
	})
	if i < 0 {
		return "", "", errors.New("artifacts/examples/hello.yaml names no repository")
	}
	key, repository, _ := strings.Cut(strings.TrimSuffix(lines[i], "\n"), ": ")
	if d.repository != "" {
		quoted, err := json.Marshal(d.repository)
		if err != nil {
			return "", "", err
		}
		repository, lines[i] = d.repository, key+": "+string(quoted)+"\n"
	}
	const name = "metadata:\n"
	labeled := fmt.Sprintf("%s  labels: {%s: %s}\n", name, managedBy, managedByDeploy)
	return strings.Replace(strings.Join(lines, ""), name, labeled, 1), repository, nil
}

// ready returns an error, with the reason, until a Website serves the commit of its repository.
func ready(website []byte) error {
	var object struct {
		Metadata struct{ Generation int64 }
		Status   struct {
			ObservedGeneration int64
			Conditions         []condition
		}
	}
	if err := json.Unmarshal(website, &object); err != nil {
		return fmt.Errorf("reading the Website: %w", err)
	}
	if object.Status.ObservedGeneration < object.Metadata.Generation {
		return errors.New("website-controller has not observed it")
	}
	why := errors.New("it has no conditions")
	for _, c := range object.Status.Conditions {
		switch {
		case c.Type == "Ready" && c.Status == "True":
			return nil
		case c.Type == "Synced" && c.Status == "False":
			return fmt.Errorf("%w: %s: %s", errRepository, c.Reason, c.Message)
		case c.Type == "Ready":
			why = fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
	}
	return why
}
