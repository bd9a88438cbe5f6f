package website

import "github.com/kubesites/website-apiserver/pkg/apis/website"

// withUsers protects a site with the users of a Secret.
func withUsers(secret string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Access = usersOf(secret) }
}

// withUsersOfPreviews protects the previews of a site with the users of a Secret.
func withUsersOfPreviews(secret string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Previews = &website.WebsitePreviews{Branches: []string{"*"}, MaxCount: 1, Access: usersOf(secret)}
	}
}

func usersOf(secret string) website.WebsiteAccess {
	return website.WebsiteAccess{BasicAuth: &website.BasicAuth{SecretRef: website.SecretReference{Name: secret}}}
}

// accessCases cover spec.access.
var accessCases = map[string]specCase{
	"users":                {tweak: withUsers("readers")},
	"users without a name": {tweak: withUsers(""), want: []string{"spec.access.basicAuth.secretRef.name: Required value"}},
	"users of no Secret": {tweak: withUsers("a b"),
		want: []string{`spec.access.basicAuth.secretRef.name: Invalid value: "a b": ` + mustBeName}},
}
