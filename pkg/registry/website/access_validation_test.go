package website

import (
	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// withUsers protects a site with the users of a Secret.
func withUsers(secret string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Access = usersOf(secret) }
}

// withUsersOfPreviews protects the previews of a site with the users of a Secret.
func withUsersOfPreviews(secret string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"*"}, MaxCount: 1, Access: usersOf(secret)}
	}
}

func usersOf(secret string) v1beta1.WebsiteAccess {
	return v1beta1.WebsiteAccess{BasicAuth: &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: secret}}}
}

// accessCases cover spec.access.
var accessCases = map[string]specCase{
	"users":                {tweak: withUsers("readers")},
	"users without a name": {tweak: withUsers(""), want: []string{"spec.access.basicAuth.secretRef.name: Required value"}},
	"users of no Secret": {tweak: withUsers("a b"),
		want: []string{`spec.access.basicAuth.secretRef.name: Invalid value: "a b": ` + mustBeName}},
}
