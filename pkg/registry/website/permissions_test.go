package website

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestRequiredPermissions(t *testing.T) {
	const (
		exposeType, exposePort = "expose websites kubia for spec.service.type",
			"expose websites kubia for spec.service.nodePort"
		schedule = "schedule websites kubia for spec.scheduling.tolerations"
		get      = "get secrets key for spec.source.git.secretRef"
	)
	type tweak = func(*website.Website)
	service := func(kind v1beta1.ServiceType, port int32) tweak {
		return func(w *website.Website) { w.Spec.Service = v1beta1.WebsiteService{Type: kind, NodePort: port} }
	}
	clusterIP := service(v1beta1.ServiceTypeClusterIP, 0)
	tolerating := func(keys ...string) tweak {
		return func(w *website.Website) {
			for _, key := range keys {
				w.Spec.Scheduling.Tolerations = append(w.Spec.Scheduling.Tolerations,
					corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
			}
		}
	}
	private := func(w *website.Website) { w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: "key"} }
	pinned := func(commit string) tweak {
		return func(w *website.Website) {
			private(w)
			w.Spec.Pin = pinTo(commit)
			w.Status.Commit, w.Status.History = "a", []v1beta1.WebsiteRelease{{Commit: "a"}, {Commit: "b"}}
		}
	}
	tls := func(w *website.Website) {
		w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeSecret, SecretRef: &v1beta1.SecretReference{Name: "tls"}}
	}
	certified := func(r v1beta1.CAReference) tweak {
		return func(w *website.Website) { w.Spec.Source.Git.CARef = &r }
	}
	privateWith := func(ca string) tweak {
		return func(w *website.Website) {
			private(w)
			certified(v1beta1.CAReference{ConfigMapName: ca, Key: "k"})(w)
		}
	}
	all := func(w *website.Website) {
		private(w)
		service(v1beta1.ServiceTypeLoadBalancer, 30080)(w)
		tolerating("gpu")(w)
	}
	// old is nil for a creation.
	tests := map[string]struct {
		old, updated tweak
		want         []string
		// anyHost disables the authorization of hosts.
		anyHost bool
	}{
		"new: defaults":      {updated: func(*website.Website) {}},
		"new: LoadBalancer":  {updated: service(v1beta1.ServiceTypeLoadBalancer, 0), want: []string{exposeType}},
		"new: any node port": {updated: service(v1beta1.ServiceTypeNodePort, 0), want: []string{exposeType}},
		"new: node port": {updated: service(v1beta1.ServiceTypeNodePort, 30080),
			want: []string{exposeType, exposePort}},
		"new: tolerations": {updated: tolerating("gpu", "edge"), want: []string{schedule}},
		"new: node selector": {updated: func(w *website.Website) {
			w.Spec.Scheduling.NodeSelector = map[string]string{"a": "b"}
		}},
		"new: everything": {updated: all, want: []string{get, exposeType, exposePort, schedule}},
		"new: CA of a ConfigMap": {updated: certified(v1beta1.CAReference{ConfigMapName: "ca", Key: "k"}),
			want: []string{"get configmaps ca for spec.source.git.caRef"}},
		"CA of another ConfigMap": {old: certified(v1beta1.CAReference{ConfigMapName: "ca", Key: "k"}),
			updated: certified(v1beta1.CAReference{ConfigMapName: "cb", Key: "k"}),
			want:    []string{"get configmaps cb for spec.source.git.caRef"}},
		"CA of a Secret instead": {old: certified(v1beta1.CAReference{ConfigMapName: "ca", Key: "k"}),
			updated: certified(v1beta1.CAReference{SecretName: "ca", Key: "k"}),
			want:    []string{"get secrets ca for spec.source.git.caRef"}},
		"CA of another key": {old: certified(v1beta1.CAReference{SecretName: "ca", Key: "k"}),
			updated: certified(v1beta1.CAReference{SecretName: "ca", Key: "l"}),
			want:    []string{"get secrets ca for spec.source.git.caRef"}},
		"CA unchanged": {old: certified(v1beta1.CAReference{SecretName: "ca", Key: "k"}), updated: func(w *website.Website) {
			certified(v1beta1.CAReference{SecretName: "ca", Key: "k"})(w)
			w.Spec.Source.Git.Repository = "https://other/x"
		}},
		"CA next to credentials": {old: private, updated: privateWith("ca"),
			want: []string{get, "get configmaps ca for spec.source.git.caRef"}},
		"another CA next to credentials": {old: privateWith("ca"), updated: privateWith("cb"),
			want: []string{get, "get configmaps cb for spec.source.git.caRef"}},
		"CA removed next to credentials":   {old: privateWith("ca"), updated: private, want: []string{get}},
		"CA unchanged next to credentials": {old: privateWith("ca"), updated: privateWith("ca")},
		"CA removed": {old: certified(v1beta1.CAReference{SecretName: "ca", Key: "k"}),
			updated: func(*website.Website) {}},
		"a pin of an unpublished commit": {old: private, updated: pinned("c"), want: []string{get}},
		"a pin, of the history":          {old: private, updated: pinned("b")},
		"a pin of the served commit":     {old: private, updated: pinned("a")},
		"a pin removed":                  {old: pinned("c"), updated: private},
		"a pin unchanged":                {old: pinned("c"), updated: pinned("c")},
		"a pin without credentials":      {updated: func(w *website.Website) { w.Spec.Pin = pinTo("c") }},
		"previews in another domain": {old: tls, updated: func(w *website.Website) {
			tls(w)
			w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"*"}, Domain: "example.com"}
		}, want: []string{"get secrets tls for spec.tls.secretRef", "create websites  for spec.previews"}, anyHost: true},
		"unchanged": {old: all, updated: all},
		"content changed": {old: all,
			updated: func(w *website.Website) { all(w); w.Spec.Source.Path = "docs"; w.Spec.Replicas = ptr.To[int32](5) }},
		"becomes LoadBalancer": {old: service(v1beta1.ServiceTypeNodePort, 0),
			updated: service(v1beta1.ServiceTypeLoadBalancer, 0), want: []string{exposeType}},
		"LoadBalancer no longer": {old: service(v1beta1.ServiceTypeLoadBalancer, 30080),
			updated: service(v1beta1.ServiceTypeClusterIP, 0)},
		"LoadBalancer to NodePort": {old: service(v1beta1.ServiceTypeLoadBalancer, 30080),
			updated: service(v1beta1.ServiceTypeNodePort, 30080), want: []string{exposeType}},
		"ClusterIP becomes NodePort": {old: service(v1beta1.ServiceTypeClusterIP, 0),
			updated: service(v1beta1.ServiceTypeNodePort, 0), want: []string{exposeType}},
		"NodePort unchanged": {old: service(v1beta1.ServiceTypeNodePort, 0),
			updated: service(v1beta1.ServiceTypeNodePort, 0)},
		"node port set": {old: service(v1beta1.ServiceTypeNodePort, 0),
			updated: service(v1beta1.ServiceTypeNodePort, 30080), want: []string{exposePort}},
		"node port changed": {old: service(v1beta1.ServiceTypeNodePort, 30081),
			updated: service(v1beta1.ServiceTypeNodePort, 30080), want: []string{exposePort}},
		"node port removed": {old: service(v1beta1.ServiceTypeNodePort, 30081),
			updated: service(v1beta1.ServiceTypeNodePort, 0)},
		"toleration added": {old: tolerating("gpu"), updated: tolerating("gpu", "edge"),
			want: []string{schedule}},
		"toleration removed":           {old: tolerating("gpu", "edge"), updated: tolerating("edge")},
		"tolerations in another order": {old: tolerating("gpu", "edge"), updated: tolerating("edge", "gpu")},
		"hosts added": {
			old: hosts("a.example.com", "b.example.com"), updated: hosts("*.example.com", "b.example.com", "c.example.com"),
			want: []string{"use websitehosts *.example.com for spec.hosts[0].name",
				"use websitehosts c.example.com for spec.hosts[2].name"},
		},
		"hosts in another order": {old: hosts("a.example.com", "b.example.com"),
			updated: hosts("b.example.com", "a.example.com")},
		"hosts of a new Website": {updated: hosts("a.example.com"),
			want: []string{"use websitehosts a.example.com for spec.hosts[0].name"}},
		"any host": {updated: hosts("a.example.com"), anyHost: true},
		"service annotation added": {old: service(v1beta1.ServiceTypeLoadBalancer, 0), updated: func(w *website.Website) {
			service(v1beta1.ServiceTypeLoadBalancer, 0)(w)
			w.Spec.Service.Annotations = map[string]string{"example.com/a": "b"}
		}, want: []string{"expose websites kubia for spec.service.annotations"}},
		"service annotations removed from a load balancer": {old: withAnnotations("a"),
			updated: service(v1beta1.ServiceTypeLoadBalancer, 0),
			want:    []string{"expose websites kubia for spec.service.annotations"}},
		"one of them": {old: withAnnotations("a", "b"),
			updated: withAnnotations("b"),
			want:    []string{"expose websites kubia for spec.service.annotations"}},
		"service annotations removed with it": {old: withAnnotations("a"),
			updated: service(v1beta1.ServiceTypeClusterIP, 0)},
		"service annotations unchanged": {old: withAnnotations("a"),
			updated: withAnnotations("a")},
		"users": {updated: withUsers("readers"),
			want: []string{"get secrets readers for spec.access.basicAuth.secretRef"}},
		"users unchanged": {old: withUsers("readers"), updated: withUsers("readers")},
		"other users": {old: withUsers("readers"), updated: withUsers("others"),
			want: []string{"get secrets others for spec.access.basicAuth.secretRef"}},
		"no users any more": {old: withUsers("readers"), updated: func(*website.Website) {}},
		"users of previews": {
			updated: withUsersOfPreviews("readers"),
			want: []string{"get secrets readers for spec.previews.access.basicAuth.secretRef",
				"create websites  for spec.previews"},
		},
		"previews of other branches": {old: withUsersOfPreviews("readers"), updated: func(w *website.Website) {
			withUsersOfPreviews("readers")(w)
			w.Spec.Previews.Branches = []string{"other"}
		}, want: []string{"create websites  for spec.previews"}},
		"previews at hosts": {updated: previewing(inDomain("previews.example.com")), want: []string{
			"create websites  for spec.previews", "use websitehosts *.kubia.previews.example.com for spec.previews.domain",
		}},
		"previews at node ports": {old: service(v1beta1.ServiceTypeNodePort, 0), updated: func(w *website.Website) {
			service(v1beta1.ServiceTypeNodePort, 0)(w)
			previewing(inDomain(""))(w)
		}, want: []string{"create websites  for spec.previews", "expose websites kubia for spec.previews"}},
		"users of previews unchanged": {old: withUsersOfPreviews("readers"), updated: withUsersOfPreviews("readers")},
		"other users of previews": {old: withUsersOfPreviews("readers"), updated: withUsersOfPreviews("others"),
			want: []string{"get secrets others for spec.previews.access.basicAuth.secretRef"}},
		"users of the site for the previews as well": {old: withUsers("readers"), updated: func(w *website.Website) {
			withUsers("readers")(w)
			withUsersOfPreviews("readers")(w)
		}, want: []string{"get secrets readers for spec.previews.access.basicAuth.secretRef",
			"create websites  for spec.previews"}},
		"users, and other content": {old: withUsers("readers"), updated: func(w *website.Website) {
			withUsers("readers")(w)
			w.Spec.Source.Git.Repository, w.Spec.Serving.Index = "https://other/x", "home.html"
		}},
		"certificate": {updated: withCertificate("cert"), want: []string{"get secrets cert for spec.tls.secretRef"}},
		"certificate for another host": {old: withCertificate("cert"), anyHost: true, updated: func(w *website.Website) {
			withCertificate("cert")(w)
			w.Spec.Hosts = hostsOf("a.example.com")
		}, want: []string{"get secrets cert for spec.tls.secretRef"}},
		"toleration of one effect widened": {old: func(w *website.Website) {
			tolerating("gpu")(w)
			w.Spec.Scheduling.Tolerations[0].Effect = corev1.TaintEffectNoSchedule
		}, updated: tolerating("gpu"), want: []string{schedule}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			old := &v1beta1.WebsiteSpec{}
			if test.old != nil {
				old = &newWebsite(clusterIP, test.old).Spec
			}
			var got []string
			rules := FieldRules{HostAuthorization: HostAuthorizationEnforce}
			if test.anyHost {
				rules.HostAuthorization = HostAuthorizationOff
			}
			for _, p := range requiredPermissions(newWebsite(clusterIP, test.updated), old, rules) {
				got = append(got, p.verb+" "+p.resource.Resource+" "+p.name+" for "+p.path.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("required permissions = %q, want %q", got, test.want)
			}
		})
	}
}

// TestRequiredForPreview: the metadata that makes a Website a preview requires a permission, and
// other metadata does not.
func TestRequiredForPreview(t *testing.T) {
	const label, reference = "preview websites shop for metadata.labels[mycontroller.nevermosby.io/preview-of]",
		"preview websites shop for metadata.ownerReferences"
	type tweak = func(*website.Website)
	labelled := func(value string) tweak {
		return func(w *website.Website) { w.Labels = map[string]string{website.LabelPreviewOf: value, "app": "x"} }
	}
	owned := func(owners ...metav1.OwnerReference) tweak {
		return func(w *website.Website) { w.OwnerReferences = owners }
	}
	shop := metav1.OwnerReference{APIVersion: "mycontroller.nevermosby.io/v1beta1", Kind: "Website",
		Name: "shop", UID: "1"}
	with := func(change func(*metav1.OwnerReference)) metav1.OwnerReference {
		changed := shop
		change(&changed)
		return changed
	}
	controlled := with(func(o *metav1.OwnerReference) { o.Controller = ptr.To(true) })
	other := with(func(o *metav1.OwnerReference) { o.APIVersion, o.Kind = "v1", "ConfigMap" })
	none := func(*website.Website) {}
	for name, test := range map[string]struct {
		old, updated tweak
		want         []string
	}{
		"new":                 {updated: none},
		"new, with the label": {updated: labelled("shop"), want: []string{label}},
		"new, with an empty label": {updated: labelled(""),
			want: []string{"preview websites  for metadata.labels[mycontroller.nevermosby.io/preview-of]"}},
		"new, with an owner": {updated: owned(other, shop), want: []string{reference + "[1]"}},
		"new, with the owner in v1alpha1": {
			updated: owned(with(func(o *metav1.OwnerReference) { o.APIVersion = "mycontroller.nevermosby.io/v1alpha1" })),
			want:    []string{reference + "[0]"},
		},
		"new, with another owner": {updated: owned(other)},
		"label added":             {old: none, updated: labelled("shop"), want: []string{label}},
		"label changed":           {old: labelled("other"), updated: labelled("shop"), want: []string{label}},
		"label unchanged":         {old: labelled("shop"), updated: labelled("shop")},
		"label removed":           {old: labelled("shop"), updated: none},
		"owner added": {old: owned(other), updated: owned(other, controlled),
			want: []string{reference + "[1]"}},
		"owner unchanged":              {old: owned(shop, other), updated: owned(other, shop)},
		"owner removed":                {old: owned(shop), updated: none},
		"owner becomes the controller": {old: owned(shop), updated: owned(controlled), want: []string{reference + "[0]"}},
		"another Website of the same name": {old: owned(shop),
			updated: owned(with(func(o *metav1.OwnerReference) { o.UID = "2" })), want: []string{reference + "[0]"}},
		"deletion no longer blocked": {
			old:     owned(with(func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = ptr.To(true) })),
			updated: owned(with(func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = ptr.To(false) })),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var old *website.Website
			if test.old != nil {
				old = newWebsite(test.old)
			}
			var got []string
			for _, p := range requiredForPreview(newWebsite(test.updated), old) {
				got = append(got, p.verb+" "+p.resource.Resource+" "+p.name+" for "+p.path.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("required permissions = %q, want %q", got, test.want)
			}
		})
	}
}

// withAnnotations sets these annotations on a load balancer.
func withAnnotations(keys ...string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Service.Type, w.Spec.Service.Annotations = v1beta1.ServiceTypeLoadBalancer, map[string]string{}
		for _, key := range keys {
			w.Spec.Service.Annotations["example.com/"+key] = "value"
		}
	}
}
