package bench

import (
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Names of targets that others are compared with.
const (
	definition = "definition JSON"
	builtIn    = "ConfigMap JSON"
	original   = "original JSON"
)

// Namespaces of the objects that are listed.
var dataNamespaces = []string{"bench-data-0", "bench-data-1"}

// target is one way to reach one API.
type target struct {
	name   string
	client *measure.Client
	// root is the path of the API version, and resource the plural in it.
	root, resource string
	media          string
	manifest       manifest
	// reporter is the target through which the status is set that a controller would report; nil: this one.
	reporter *target
	// definition is the CustomResourceDefinition of the API; nil: it exists.
	definition []byte
	// data is the name of the objects that are listed; several targets list the same ones, and those without lists have
	// none.
	data string
	// populates is set for the target that creates them, once the targets are selected.
	populates bool
	// namespace is for the objects that this target creates and deletes.
	namespace string
	// secondary targets are left out of a quick run: no range is about them.
	secondary bool
}

func (t *target) path(namespace, name, subresource string) string {
	path := t.root
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + t.resource
	if name != "" {
		path += "/" + name
	}
	if subresource != "" {
		path += "/" + subresource
	}
	return path
}

// environment has the targets of a run.
type environment struct {
	targets   []*target
	processes measure.Processes
	// proxied and direct are clients of kube-apiserver and of website-apiserver itself.
	proxied, direct *measure.Client
	// prefixes are where the objects are stored in etcd, by data.
	prefixes map[string]location
}

// location is part of an etcd.
type location struct {
	endpoint, prefix string
	tls              *tls.Config
}

// WebsiteCRD is the CustomResourceDefinition of Websites.
//
//go:embed website-crd.yaml
var WebsiteCRD []byte

// originalCRD is the definition of the original controller.
//
//go:embed original-crd.yaml
var originalCRD []byte

// newEnvironment prepares the APIs of a started cluster.
func newEnvironment(ctx context.Context, cluster *devcluster.Cluster, options measure.Options,
	repoDir string) (*environment, error) {
	config := cluster.AdminConfig()
	sample, err := cluster.StartSampleAPIServer(ctx)
	if err != nil {
		return nil, err
	}
	e := &environment{processes: measure.Processes{sample.Name(): sample.PID()}, prefixes: map[string]location{}}
	for _, name := range []string{"kube-apiserver", "website-apiserver", "etcd"} {
		e.processes[name] = cluster.Process(name).PID()
	}
	if e.proxied, err = measure.NewClient(config, options.Clients); err != nil {
		return nil, err
	}
	own := rest.CopyConfig(config)
	own.Host = cluster.WebsiteAPIServerURL()
	if e.direct, err = measure.NewClient(own, options.Clients); err != nil {
		return nil, err
	}
	if err := e.locate(cluster); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(repoDir, "artifacts", "examples", "site.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the example: %w", err)
	}
	example, err := exampleWebsite(data)
	if err != nil {
		return nil, err
	}
	if err := e.makeTargets(ctx, example); err != nil {
		return nil, err
	}
	if e.targets, err = selected(e.targets, options); err != nil {
		return nil, err
	}
	return e, e.createNamespaces(ctx)
}

// locate finds the objects in the two etcds.
func (e *environment) locate(cluster *devcluster.Cluster) error {
	websites, err := embeddedetcd.Endpoint(cluster.WebsiteDataDir())
	if err != nil {
		return err
	}
	e.prefixes["websites"] = location{websites,
		"/registry/" + website.GroupName + "/websites/" + dataNamespaces[0] + "/", nil}
	url, config, err := cluster.KubeAPIServerEtcd()
	if err != nil {
		return err
	}
	e.prefixes["definition"] = location{url,
		"/registry/definition.example.com/websites/" + dataNamespaces[0] + "/", config}
	e.prefixes["configmaps"] = location{url, "/registry/configmaps/" + dataNamespaces[0] + "/bench-", config}
	e.prefixes["podtemplates"] = location{url, "/registry/podtemplates/" + dataNamespaces[0] + "/bench-", config}
	e.prefixes["flunders"] = location{url,
		"/registry/wardle.example.com/wardle.example.com/flunders/" + dataNamespaces[0] + "/", config}
	return nil
}

// makeTargets creates an object of each API, to make all of equal size: as new ones, and with a status.
func (e *environment) makeTargets(ctx context.Context, example object) error {
	beta := websiteManifest(v1beta1.SchemeGroupVersion.String(), example)
	websites := "/apis/" + website.GroupName
	probe := &target{client: e.proxied, root: websites + "/v1beta1", resource: "websites",
		media: measure.JSON, manifest: beta}
	annotations, err := probe.asAlpha(ctx, websites+"/v1alpha1")
	if err != nil {
		return err
	}
	size, err := probe.encodedSizes(ctx)
	if err != nil {
		return err
	}
	alpha := alphaManifest(annotations, example)

	configMaps, err := padded(ctx, size, e.proxied, "/api/v1", "configmaps",
		func(padding padding) (manifest, error) { return configMapManifest(example, padding) })
	if err != nil {
		return err
	}
	podTemplates, err := padded(ctx, size, e.proxied, "/api/v1", "podtemplates", podTemplateManifest)
	if err != nil {
		return err
	}
	flunders, err := padded(ctx, size, e.proxied, "/apis/wardle.example.com/v1alpha1", "flunders",
		func(padding padding) (manifest, error) { return flunderManifest(example, padding) })
	if err != nil {
		return err
	}
	for _, way := range []struct {
		name   string
		client *measure.Client
	}{{"proxied", e.proxied}, {"direct", e.direct}} {
		for _, media := range []struct{ name, media string }{{"JSON", measure.JSON}, {"protobuf", measure.Protobuf}} {
			e.targets = append(e.targets,
				&target{name: "v1beta1 " + way.name + " " + media.name, client: way.client, root: websites + "/v1beta1",
					resource: "websites", media: media.media,
					manifest: beta, data: "websites", secondary: way.name == "direct" && media.media == measure.Protobuf},
				&target{name: "v1alpha1 " + way.name + " " + media.name, client: way.client, root: websites + "/v1alpha1",
					resource: "websites", media: media.media,
					manifest: alpha, reporter: probe, data: "websites", secondary: way.name == "direct"})
		}
	}
	e.targets = append(e.targets,
		&target{name: definition, client: e.proxied, root: "/apis/definition.example.com/v1beta1", resource: "websites",
			media: measure.JSON, manifest: websiteManifest("definition.example.com/v1beta1", example),
			definition: WebsiteCRD, data: "definition"},
		&target{name: builtIn, client: e.proxied, root: "/api/v1", resource: "configmaps", media: measure.JSON,
			manifest: configMaps, data: "configmaps"},
		&target{name: "ConfigMap protobuf", client: e.proxied, root: "/api/v1", resource: "configmaps",
			media:    measure.Protobuf,
			manifest: configMaps, data: "configmaps", secondary: true},
		&target{name: "PodTemplate JSON", client: e.proxied, root: "/api/v1", resource: "podtemplates", media: measure.JSON,
			manifest: podTemplates, data: "podtemplates", secondary: true},
		&target{name: "sample-apiserver JSON", client: e.proxied, root: "/apis/wardle.example.com/v1alpha1",
			resource: "flunders", media: measure.JSON,
			manifest: flunders, data: "flunders", secondary: true})
	e.targets = append(e.targets, e.originals(probe, alpha.apiVersion)...)
	for i, t := range e.targets {
		t.namespace = fmt.Sprintf("bench-%d", i)
	}
	return nil
}

// originals returns the targets of the manifest of the original controller: its own definition, and both versions of
// Websites. website-controller reports more than the original one.
func (e *environment) originals(reporter *target, alpha string) []*target {
	asAlpha := alphaManifest(nil, originalExample())
	ofOriginal := asAlpha
	ofOriginal.apiVersion = "original.example.com/v1alpha1"
	targets := []*target{
		{name: original, root: "/apis/" + ofOriginal.apiVersion, manifest: ofOriginal, definition: originalCRD},
		{name: originalAs("v1beta1"), root: reporter.root,
			manifest: websiteManifest(reporter.manifest.apiVersion, originalExample())},
		{name: originalAs("v1alpha1"), root: "/apis/" + alpha, manifest: asAlpha, reporter: reporter},
	}
	for _, t := range targets {
		t.client, t.resource, t.media = e.proxied, "websites", measure.JSON
	}
	return targets
}

// originalAs is the name of the target with the original manifest in a version of Websites.
func originalAs(version string) string { return "original as " + version + " JSON" }

// selected returns the targets of a run. The first with the same objects creates them.
func selected(all []*target, options measure.Options) ([]*target, error) {
	populated := map[string]bool{}
	var targets []*target
	for _, t := range all {
		if options.Quick && t.secondary || len(options.Targets) > 0 && !slices.Contains(options.Targets, t.name) {
			continue
		}
		t.populates = t.data != "" && !populated[t.data]
		populated[t.data] = true
		targets = append(targets, t)
	}
	for _, name := range options.Targets {
		if !slices.ContainsFunc(targets, func(t *target) bool { return t.name == name }) {
			return nil, fmt.Errorf("there is no target %q to measure", name)
		}
	}
	return targets, nil
}

// The object that sizes are taken of.
const probeNamespace, probeName = "default", "bench-probe"

// sizes are the encoded sizes of an object: of a new one, and of one with its status.
type sizes struct{ created, reported int }

// padded returns the manifest with padding for encoded sizes.
func padded(ctx context.Context, want sizes, c *measure.Client, root, resource string,
	build func(padding) (manifest, error)) (manifest, error) {
	m, err := build(padding{})
	if err != nil {
		return m, err
	}
	probe := &target{client: c, root: root, resource: resource, media: measure.JSON, manifest: m}
	bare, err := probe.encodedSizes(ctx)
	if err != nil {
		return m, err
	}
	return build(padding{created: max(0, want.created-bare.created), reported: max(0, want.reported-bare.reported)})
}

// encodedSizes returns the sizes of an object in responses.
func (t *target) encodedSizes(ctx context.Context) (sizes, error) {
	var found sizes
	for _, step := range []struct {
		do   func(ctx context.Context, connection int, namespace, name string) error
		size *int
	}{{t.create, &found.created}, {t.report, &found.reported}} {
		if err := step.do(ctx, 0, probeNamespace, probeName); err != nil {
			return found, err
		}
		body, err := t.client.Read(ctx, measure.Request{Method: http.MethodGet, Path: t.path(probeNamespace, probeName, ""),
			Accept: t.media})
		if err != nil {
			return found, err
		}
		*step.size = len(body)
	}
	return found, t.removeProbe(ctx)
}

func (t *target) removeProbe(ctx context.Context) error {
	_, err := t.client.Read(ctx, measure.Request{Method: http.MethodDelete, Path: t.path(probeNamespace, probeName, ""),
		Accept: measure.JSON})
	return err
}

// asAlpha returns the annotations of a new Website in v1alpha1.
func (t *target) asAlpha(ctx context.Context, root string) (object, error) {
	if err := t.create(ctx, 0, probeNamespace, probeName); err != nil {
		return nil, err
	}
	alpha := &target{root: root, resource: t.resource}
	body, err := t.client.Read(ctx, measure.Request{Method: http.MethodGet,
		Path:   alpha.path(probeNamespace, probeName, ""),
		Accept: measure.JSON})
	if err != nil {
		return nil, err
	}
	var found struct {
		Metadata struct {
			Annotations object `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return nil, fmt.Errorf("decoding a Website: %w", err)
	}
	return found.Metadata.Annotations, t.removeProbe(ctx)
}

// create creates an object.
func (t *target) create(ctx context.Context, connection int, namespace, name string) error {
	body, err := t.manifest.encode(t.manifest.build(name), t.media)
	if err != nil {
		return err
	}
	_, err = t.client.Do(ctx, connection,
		measure.Request{Method: http.MethodPost, Path: t.path(namespace, "", ""), Body: body,
			ContentType: t.media, Accept: t.media})
	return err
}

// report sets the status of an object, or makes one without a status as large as with one.
func (t *target) report(ctx context.Context, connection int, namespace, name string) error {
	if t.reporter != nil {
		return t.reporter.report(ctx, connection, namespace, name)
	}
	change, subresource := t.manifest.grown, ""
	if t.manifest.status != nil {
		change, subresource = object{"status": t.manifest.status}, "status"
	}
	body, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encoding a status: %w", err)
	}
	_, err = t.client.Do(ctx, connection,
		measure.Request{Method: http.MethodPatch, Path: t.path(namespace, name, subresource),
			Body: body, ContentType: measure.MergePatch, Accept: t.media})
	return err
}

func (e *environment) createNamespaces(ctx context.Context) error {
	names := slices.Clone(dataNamespaces)
	for _, t := range e.targets {
		names = append(names, t.namespace)
	}
	for _, name := range names {
		if err := e.proxied.CreateNamespace(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
