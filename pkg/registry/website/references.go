package website

import (
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// objectReference is a reference to an object of the Website's namespace whose content
// its pods, or the Gateway of its hosts, use.
type objectReference struct {
	// resource is the type of the object for authorizers.
	resource schema.GroupVersionResource
	// name is the name of the object.
	name string
	// path is the field that refers to it.
	path *field.Path
	// recipients are the fields that determine which content is used and where it is sent.
	recipients any
}

var (
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// gitRecipients determine where the credentials of a repository are sent: to its server,
// and to the servers of the submodules of the reference and of the branches with
// previews. The CA authenticates these servers.
type gitRecipients struct {
	// Source has no secretRef. New fields are compared as well.
	Source v1beta1.GitSource
	// Previews are the branches with previews.
	Previews []string
}

// certificateRecipients determine the server that proves its hosts with a certificate.
type certificateRecipients struct {
	Hosts   []string
	Routing v1beta1.WebsiteRouting
	// Previews is the domain of the hosts of previews, or nil without previews.
	Previews *string
}

// gitOf returns the git repository of a spec, or an empty one for another kind of source.
func gitOf(spec *v1beta1.WebsiteSpec) v1beta1.GitSource {
	return ptr.Deref(spec.Source.Git, v1beta1.GitSource{})
}

// referencesOf lists the objects that a spec refers to. It must include every field
// through which pods or controllers use an object with their own permissions.
func referencesOf(spec *v1beta1.WebsiteSpec) []objectReference {
	var references []objectReference
	git := gitOf(spec)
	if git.SecretRef != nil {
		recipients := gitRecipients{Source: git}
		recipients.Source.SecretRef = nil
		if spec.Previews != nil {
			recipients.Previews = spec.Previews.Branches
		}
		references = append(references, objectReference{
			resource:   secrets,
			name:       git.SecretRef.Name,
			path:       field.NewPath("spec", "source", "git", "secretRef"),
			recipients: recipients,
		})
	}
	if ca := git.CARef; ca != nil {
		reference := objectReference{resource: configMaps, name: ca.ConfigMapName,
			path: field.NewPath("spec", "source", "git", "caRef"), recipients: ca.Key}
		if ca.SecretName != "" {
			reference.resource, reference.name = secrets, ca.SecretName
		}
		references = append(references, reference)
	}
	if spec.TLS != nil && spec.TLS.SecretRef != nil {
		recipients := certificateRecipients{Hosts: slices.Sorted(slices.Values(spec.HostNames())), Routing: spec.Routing}
		if spec.Previews != nil {
			recipients.Previews = &spec.Previews.Domain
		}
		references = append(references, objectReference{
			resource:   secrets,
			name:       spec.TLS.SecretRef.Name,
			path:       field.NewPath("spec", "tls", "secretRef"),
			recipients: recipients,
		})
	}
	references = appendUsers(references, spec.Access, field.NewPath("spec", "access"))
	if spec.Previews != nil {
		references = appendUsers(references, spec.Previews.Access, field.NewPath("spec", "previews", "access"))
	}
	return references
}

// appendUsers adds the reference to a Secret with the users of a site. It has no
// recipients: its content does not leave the pod, whichever commit is published, and
// neither a page nor a header can contain a visitor's request.
func appendUsers(references []objectReference, access v1beta1.WebsiteAccess, path *field.Path) []objectReference {
	if access.BasicAuth == nil {
		return references
	}
	return append(references, objectReference{resource: secrets, name: access.BasicAuth.SecretRef.Name,
		path: path.Child("basicAuth", "secretRef")})
}

// isWithin reports whether recipients equal the former ones, or are fewer because previews are
// narrowed or removed.
func isWithin(recipients, before any) bool {
	switch now := recipients.(type) {
	case gitRecipients:
		former, isGit := before.(gitRecipients)
		if isGit && !slices.ContainsFunc(now.Previews,
			func(pattern string) bool { return !slices.Contains(former.Previews, pattern) }) {
			now.Previews = former.Previews
		}
		recipients = now
	case certificateRecipients:
		if former, isCertificate := before.(certificateRecipients); isCertificate && now.Previews == nil {
			now.Previews = former.Previews
		}
		recipients = now
	}
	return apiequality.Semantic.DeepEqual(before, recipients)
}

// changedReferences lists the references of a Website that old, which is empty on
// creation, does not have with the same recipients.
func changedReferences(w *website.Website, old *v1beta1.WebsiteSpec) []objectReference {
	spec := &w.Spec
	former := map[string]objectReference{}
	for _, r := range referencesOf(old) {
		former[r.path.String()] = r
	}
	var changed []objectReference
	for _, r := range referencesOf(spec) {
		before, found := former[r.path.String()]
		_, isGit := r.recipients.(gitRecipients)
		if !found || isGit && fetchesPin(w, old) || before.resource != r.resource || before.name != r.name ||
			!isWithin(r.recipients, before.recipients) {
			changed = append(changed, r)
		}
	}
	return changed
}

// fetchesPin reports whether the pinned commit was not published before: it is fetched like a
// reference, and so are its submodules.
func fetchesPin(w *website.Website, old *v1beta1.WebsiteSpec) bool {
	pin := w.Spec.PinnedCommit()
	wasPublished := func(release v1beta1.WebsiteRelease) bool { return release.Commit == pin }
	return pin != "" && pin != old.PinnedCommit() && pin != w.Status.Commit &&
		!slices.ContainsFunc(w.Status.History, wasPublished)
}
