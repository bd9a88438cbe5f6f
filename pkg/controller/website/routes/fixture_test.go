package routes

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

var testNow = time.Unix(1_700_000_000, 0)

// newWebsite returns a Website, changed by tweaks.
func newWebsite(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	website := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default", UID: "uid-of-kubia"},
		Spec:       v1beta1.WebsiteSpec{DeploymentName: "kubia-website"},
	}
	for _, tweak := range tweaks {
		tweak(website)
	}
	return website
}

// hostsOf returns hosts with the role Alias.
func hostsOf(names ...string) []v1beta1.WebsiteHost {
	var hosts []v1beta1.WebsiteHost
	for _, name := range names {
		hosts = append(hosts, v1beta1.WebsiteHost{Name: name, Role: v1beta1.HostRoleAlias})
	}
	return hosts
}
