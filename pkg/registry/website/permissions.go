package website

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
)

// Verbs besides those of requests.
const (
	// verbExpose permits load balancers and chosen node ports, of which the cluster
	// has few and some cost money.
	verbExpose = "expose"
	// verbSchedule permits tolerations, by which pods run on nodes that are
	// reserved for others.
	verbSchedule = "schedule"
	// verbUse permits hosts. There are no objects of this resource: its names are hosts.
	verbUse = "use"
	// verbCreate permits previews, which are Websites as well.
	verbCreate = "create"
	// verbPreview permits to create and change the previews of a Website with the fields
	// that this has. It is for website-controller only.
	verbPreview = "preview"
)

var (
	websites     = v1beta1.SchemeGroupVersion.WithResource("websites")
	websiteHosts = v1beta1.SchemeGroupVersion.WithResource("websitehosts")
)

// permission is what a user needs to set a field to its value.
type permission struct {
	// path is the field.
	path *field.Path
	// verb, resource and name are as authorizers know them. The name is empty for all.
	verb     string
	resource schema.GroupVersionResource
	name     string
}

// String is how messages name it.
func (p permission) String() string {
	if p.name == "" {
		return p.verb + " on " + p.resource.Resource
	}
	return fmt.Sprintf("%s on %s %q", p.verb, p.resource.Resource, p.name)
}

// requiredPermissions lists what a user needs to write w in place of a spec, which is
// empty on creation. Unchanged values require nothing.
func requiredPermissions(w *website.Website, before *website.WebsiteSpec, rules FieldRules) []permission {
	var required []permission
	for _, r := range changedReferences(w, before) {
		required = append(required, permission{path: r.path, verb: "get", resource: r.resource, name: r.name})
	}
	onWebsite := func(verb string, path ...string) {
		required = append(required, permission{path: field.NewPath("spec", path...), verb: verb, resource: websites, name: w.Name})
	}
	service, scheduling := w.Spec.Service, w.Spec.Scheduling
	if service.Type == website.ServiceTypeLoadBalancer && before.Service.Type != website.ServiceTypeLoadBalancer {
		onWebsite(verbExpose, "service", "type")
	}
	if service.NodePort != 0 && service.NodePort != before.Service.NodePort {
		onWebsite(verbExpose, "service", "nodePort")
	}
	if changesExposure(&service, &before.Service) {
		onWebsite(verbExpose, "service", "annotations")
	}
	if rules.AuthorizeHosts {
		for i, host := range w.Spec.Hosts {
			if !slices.Contains(before.Hosts, host) {
				required = append(required, permission{path: field.NewPath("spec", "hosts").Index(i), verb: verbUse, resource: websiteHosts, name: host})
			}
		}
	}
	if previews := w.Spec.Previews; previews != nil && !samePreviews(previews, before.Previews) {
		required = append(required, permission{path: field.NewPath("spec", "previews"), verb: verbCreate, resource: websites})
		if rules.AuthorizeHosts && previews.Domain != "" && (before.Previews == nil || before.Previews.Domain != previews.Domain) {
			required = append(required, permission{
				path: field.NewPath("spec", "previews", "domain"), verb: verbUse, resource: websiteHosts, name: branches.AllHosts(w.Name, previews.Domain),
			})
		}
	}
	if !tolerationsOf(before.Scheduling.Tolerations).IsSuperset(tolerationsOf(scheduling.Tolerations)) {
		onWebsite(verbSchedule, "scheduling", "tolerations")
	}
	return required
}

// changesExposure reports whether annotations of a Service are added or changed, or removed from a load balancer: which
// clients that admits can be said by one.
func changesExposure(service, before *website.WebsiteService) bool {
	isLoadBalancer := service.Type == website.ServiceTypeLoadBalancer && before.Type == website.ServiceTypeLoadBalancer
	if isLoadBalancer && !maps.Equal(service.Annotations, before.Annotations) {
		return true
	}
	for key, value := range service.Annotations {
		if former, known := before.Annotations[key]; !known || former != value {
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
	known := sets.New[toleration]()
	for _, t := range list {
		seconds, forever := ptr.Deref(t.TolerationSeconds, 0), t.TolerationSeconds == nil
		t.TolerationSeconds = nil
		known.Insert(toleration{t, seconds, forever})
	}
	return known
}

// samePreviews reports whether previews are of the same branches, at the same hosts. The
// Secret with their users has a permission of its own.
func samePreviews(previews, before *website.WebsitePreviews) bool {
	if before == nil {
		return false
	}
	changed := *previews
	changed.BasicAuthRef = before.BasicAuthRef
	return apiequality.Semantic.DeepEqual(&changed, before)
}
