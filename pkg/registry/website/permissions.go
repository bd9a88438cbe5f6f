package website

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
)

// These verbs exist besides the verbs of requests.
const (
	// verbExpose permits node ports and load balancers: they open the site to clients
	// outside the cluster, there are few node ports, and load balancers cost money.
	verbExpose = "expose"
	// verbSchedule permits tolerations, by which pods run on reserved nodes.
	verbSchedule = "schedule"
	// verbUse permits hosts. The resource has no objects: its names are hosts.
	verbUse = "use"
	// verbCreate permits previews, which are Websites as well.
	verbCreate = "create"
	// verbPreview permits making a Website the preview of another one, with the fields of
	// that one. website-controller deletes previews. The verb is intended for
	// website-controller only.
	verbPreview = "preview"
)

var (
	websites     = v1beta1.SchemeGroupVersion.WithResource("websites")
	websiteHosts = v1beta1.SchemeGroupVersion.WithResource("websitehosts")
)

// permission is required to set a field to its value.
type permission struct {
	// path is the path of the field.
	path *field.Path
	// verb, resource and name are the attributes for authorizers. The name is empty for all.
	verb     string
	resource schema.GroupVersionResource
	name     string
	// orElse is a message's advice for users without the permission; it may be empty.
	orElse string
	// warnOnly accepts the value without the permission, with a warning.
	warnOnly bool
}

// String returns its form in messages.
func (p permission) String() string {
	if p.name == "" {
		return p.verb + " on " + p.resource.Resource
	}
	return fmt.Sprintf("%s on %s %q", p.verb, p.resource.Resource, p.name)
}

// requiredPermissions lists the permissions for writing w in place of a spec, which
// is empty on creation. Unchanged values require none.
func requiredPermissions(w *website.Website, before *v1beta1.WebsiteSpec, rules FieldRules) []permission {
	var required []permission
	for _, r := range changedReferences(w, before) {
		required = append(required, permission{path: r.path, verb: "get", resource: r.resource, name: r.name})
	}
	onWebsite := func(verb string, path ...string) {
		required = append(required, permission{path: field.NewPath("spec", path...), verb: verb,
			resource: websites, name: w.Name})
	}
	service, scheduling := w.Spec.Service, w.Spec.Scheduling
	if service.Type != v1beta1.ServiceTypeClusterIP && service.Type != before.Service.Type {
		onWebsite(verbExpose, "service", "type")
		required[len(required)-1].orElse = ", or set the type ClusterIP, the default of v1beta1"
	}
	if service.NodePort != 0 && service.NodePort != before.Service.NodePort {
		onWebsite(verbExpose, "service", "nodePort")
	}
	if changesExposure(&service, &before.Service) {
		onWebsite(verbExpose, "service", "annotations")
	}
	onHost := func(name string, path *field.Path) {
		if rules.HostAuthorization == HostAuthorizationWarn || rules.HostAuthorization == HostAuthorizationEnforce {
			required = append(required, permission{
				path: path, verb: verbUse, resource: websiteHosts, name: name,
				warnOnly: rules.HostAuthorization == HostAuthorizationWarn,
			})
		}
	}
	former := sets.New(before.HostNames()...)
	for i, host := range w.Spec.HostNames() {
		if !former.Has(host) {
			onHost(host, field.NewPath("spec", "hosts").Index(i).Child("name"))
		}
	}
	if previews := w.Spec.Previews; previews != nil && !samePreviews(previews, before.Previews) {
		required = append(required, permission{path: field.NewPath("spec", "previews"), verb: verbCreate, resource: websites})
		if previews.Domain == "" && service.Type == v1beta1.ServiceTypeNodePort {
			onWebsite(verbExpose, "previews") // Each preview gets a node port.
		}
		if previews.Domain != "" && (before.Previews == nil || before.Previews.Domain != previews.Domain) {
			onHost(branches.AllHosts(w.Name, previews.Domain), field.NewPath("spec", "previews", "domain"))
		}
	}
	if !tolerationsOf(before.Scheduling.Tolerations).IsSuperset(tolerationsOf(scheduling.Tolerations)) {
		onWebsite(verbSchedule, "scheduling", "tolerations")
	}
	return required
}

// requiredForPreview lists the permissions for the labels and owner references by which website-controller
// recognizes a preview. Unchanged and removed ones require none; old is nil on creation.
func requiredForPreview(w, old *website.Website) []permission {
	if old == nil {
		old = &website.Website{}
	}
	var required []permission
	onOwner := func(name string, path *field.Path) {
		required = append(required, permission{path: path, verb: verbPreview, resource: websites, name: name})
	}
	metadata := field.NewPath("metadata")
	if owner, set := w.Labels[website.LabelPreviewOf]; set {
		if former, ok := old.Labels[website.LabelPreviewOf]; !ok || former != owner {
			onOwner(owner, metadata.Child("labels").Key(website.LabelPreviewOf))
		}
	}
	for i := range w.OwnerReferences {
		owner := &w.OwnerReferences[i]
		if website.IsReference(owner) && !slices.ContainsFunc(old.OwnerReferences, func(former metav1.OwnerReference) bool {
			return former.UID == owner.UID && former.Name == owner.Name && website.IsReference(&former) &&
				ptr.Deref(former.Controller, false) == ptr.Deref(owner.Controller, false)
		}) {
			onOwner(owner.Name, metadata.Child("ownerReferences").Index(i))
		}
	}
	return required
}

// changesExposure reports whether annotations of a Service are added or changed, or removed from a load balancer: an
// annotation can restrict the load balancer's clients.
func changesExposure(service, before *v1beta1.WebsiteService) bool {
	isLoadBalancer := service.Type == v1beta1.ServiceTypeLoadBalancer && before.Type == v1beta1.ServiceTypeLoadBalancer
	if isLoadBalancer && !maps.Equal(service.Annotations, before.Annotations) {
		return true
	}
	for key, value := range service.Annotations {
		if former, ok := before.Annotations[key]; !ok || former != value {
			return true
		}
	}
	return false
}

// toleration is comparable, as corev1.Toleration has a pointer.
type toleration struct {
	corev1.Toleration
	seconds int64
	forever bool
}

func tolerationsOf(list []corev1.Toleration) sets.Set[toleration] {
	tolerations := sets.New[toleration]()
	for _, t := range list {
		seconds, forever := ptr.Deref(t.TolerationSeconds, 0), t.TolerationSeconds == nil
		t.TolerationSeconds = nil
		tolerations.Insert(toleration{t, seconds, forever})
	}
	return tolerations
}

// samePreviews reports whether previews have the same branches and hosts. The Secret
// with their users has a permission of its own.
func samePreviews(previews, before *v1beta1.WebsitePreviews) bool {
	if before == nil {
		return false
	}
	changed := *previews
	changed.Access = before.Access
	return apiequality.Semantic.DeepEqual(&changed, before)
}
