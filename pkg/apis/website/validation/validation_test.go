package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// newWebsite returns a Website that is valid until tweaked.
func newWebsite(tweaks ...func(*website.Website)) *website.Website {
	w := &website.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default", ResourceVersion: "1"},
		Spec: website.WebsiteSpec{
			GitRepo:        "https://github.com/nevermosby/kubia-website-example.git",
			DeploymentName: "kubia-website",
			Replicas:       ptr.To[int32](1),
		},
	}
	for _, tweak := range tweaks {
		tweak(w)
	}
	return w
}

func named(name string) func(*website.Website) { return func(w *website.Website) { w.Name = name } }
func deployment(name string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.DeploymentName = name }
}
func replicas(n int32) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Replicas = &n }
}
func repo(repo string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.GitRepo = repo }
}

// checkErrors compares field, type and detail of got with want, which holds
// "path: type: part of the detail".
func checkErrors(t *testing.T, got field.ErrorList, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d errors, want %d:\ngot  %v\nwant %q", len(got), len(want), got, want)
	}
	for i, err := range got {
		parts := strings.SplitN(want[i], ": ", 3)
		if err.Field != parts[0] || string(err.Type) != "FieldValue"+parts[1] || !strings.Contains(err.ErrorBody(), parts[2]) {
			t.Errorf("error %d = %s (%s), want %s", i, err, err.Type, want[i])
		}
	}
}

func TestValidateWebsite(t *testing.T) {
	tests := map[string]struct {
		website *website.Website
		want    []string
	}{
		"the original example":      {website: newWebsite()},
		"no pods":                   {website: newWebsite(replicas(0))},
		"replicas left to defaults": {website: newWebsite(func(w *website.Website) { w.Spec.Replicas = nil })},
		"longest names":             {website: newWebsite(named(strings.Repeat("a", 63)), deployment(strings.Repeat("a", 57)))},
		"a name that begins with a digit": {
			website: newWebsite(named("1kubia")),
		},

		"no name":             {website: newWebsite(named("")), want: []string{"metadata.name: Required: name or generateName is required"}},
		"name with dots":      {website: newWebsite(named("a.b")), want: []string{"metadata.name: Invalid: must not contain dots"}},
		"name in upper case":  {website: newWebsite(named("Kubia")), want: []string{"metadata.name: Invalid: lower case alphanumeric"}},
		"name too long":       {website: newWebsite(named(strings.Repeat("a", 64))), want: []string{"metadata.name: Invalid: must be no more than 63"}},
		"no namespace":        {website: newWebsite(func(w *website.Website) { w.Namespace = "" }), want: []string{"metadata.namespace: Required: "}},
		"negative replicas":   {website: newWebsite(replicas(-1)), want: []string{"spec.replicas: Invalid: must be greater than or equal to 0"}},
		"no deployment name":  {website: newWebsite(deployment("")), want: []string{"spec.deploymentName: Required: the name of the Deployment"}},
		"deployment with dot": {website: newWebsite(deployment("a.b")), want: []string{"spec.deploymentName: Invalid: DNS-1035"}},
		"deployment with a digit first": {
			website: newWebsite(deployment("1a")), want: []string{"spec.deploymentName: Invalid: start with an alphabetic character"},
		},
		"deployment too long for its service": {
			website: newWebsite(deployment(strings.Repeat("a", 58))), want: []string{"spec.deploymentName: TooLong: may not be more than 57"},
		},
		"everything missing": {
			website: &website.Website{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}},
			want:    []string{"spec.gitRepo: Required: the git repository", "spec.deploymentName: Required: "},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkErrors(t, ValidateWebsite(test.website), test.want)
		})
	}
}

func TestValidateGitRepo(t *testing.T) {
	tests := map[string]struct {
		repo string
		want string
	}{
		"https":                     {repo: "https://github.com/nevermosby/kubia-website-example.git"},
		"http with port":            {repo: "http://git.example.com:3000/team/site"},
		"IPv6 host":                 {repo: "https://[2001:db8::1]:8443/site.git"},
		"ssh":                       {repo: "ssh://git@example.com:2222/team/site.git"},
		"ssh without user":          {repo: "ssh://example.com/team/site.git"},
		"scp-like":                  {repo: "git@github.com:nevermosby/kubia-website-example.git"},
		"scp-like with home":        {repo: "git@example.com:~/site.git"},
		"percent-encoded":           {repo: "https://example.com/a%20b.git"},
		"query":                     {repo: "https://example.com/site.git?x=1"},
		"as long as can be":         {repo: "https://example.com/" + strings.Repeat("a", maxGitRepoLength-len("https://example.com/"))},
		"too long":                  {repo: "https://example.com/" + strings.Repeat("a", maxGitRepoLength), want: "TooLong: may not be more than 2048"},
		"missing":                   {repo: "", want: "Required: the git repository to publish"},
		"option":                    {repo: "--upload-pack=touch", want: "Invalid: must not begin with '-'"},
		"short option":              {repo: "-u", want: "Invalid: must not begin with '-'"},
		"space":                     {repo: "https://example.com/a b", want: "Invalid: must not contain white space"},
		"line feed":                 {repo: "https://example.com/a\nb", want: "Invalid: must not contain white space"},
		"line feed at the end":      {repo: "https://example.com/a\n", want: "Invalid: must not contain white space"},
		"zero byte":                 {repo: "https://example.com/a\x00", want: "Invalid: must not contain white space"},
		"quote":                     {repo: `https://example.com/a"`, want: "Invalid: must not contain white space"},
		"non-ASCII":                 {repo: "https://exämple.com/a", want: "Invalid: must not contain white space"},
		"local path":                {repo: "/srv/git/site.git", want: "Invalid: must be an https://"},
		"relative path":             {repo: "../site.git", want: "Invalid: must be an https://"},
		"file":                      {repo: "file:///srv/git/site.git", want: "Invalid: must be an https://"},
		"git protocol":              {repo: "git://example.com/site.git", want: "Invalid: must be an https://"},
		"ext transport":             {repo: "ext::sh", want: "Invalid: must be an https://"},
		"ext transport with scheme": {repo: "ext::https://example.com/site.git", want: "Invalid: must be an https://"},
		"scheme in upper case":      {repo: "HTTPS://example.com/site.git", want: "Invalid: must be an https://"},
		"password in https":         {repo: "https://user:secret@example.com/site.git", want: "Invalid: must not contain a user name or password"},
		"user in https":             {repo: "https://token@example.com/site.git", want: "Invalid: must not contain a user name or password"},
		"password in ssh":           {repo: "ssh://git:secret@example.com/site.git", want: "Invalid: must not contain a password"},
		"ssh option as host":        {repo: "ssh://-oProxyCommand=x/site.git", want: "Invalid: must name a host"},
		"ssh option as user":        {repo: "ssh://-oProxyCommand=x@example.com/site.git", want: "Invalid: the user name must consist of"},
		"scp-like option as host":   {repo: "git@-oProxyCommand=x:site.git", want: "Invalid: must be an https://"},
		"scp-like option as path":   {repo: "git@example.com:-site.git", want: "Invalid: must be an https://"},
		"scp-like without user":     {repo: "example.com:site.git", want: "Invalid: must be an https://"},
		"no host":                   {repo: "https:///site.git", want: "Invalid: must name a host"},
		"no repository":             {repo: "https://example.com", want: "Invalid: must name a repository"},
		"no repository, with slash": {repo: "https://example.com/", want: "Invalid: must name a repository"},
		"fragment":                  {repo: "https://example.com/site.git#main", want: "Invalid: must not contain a fragment"},
		"empty fragment":            {repo: "https://example.com/site.git#", want: "Invalid: must not contain a fragment"},
		"bad percent encoding":      {repo: "https://example.com/%zz", want: "Invalid: invalid URL escape"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var want []string
			if test.want != "" {
				want = []string{"spec.gitRepo: " + test.want}
			}
			checkErrors(t, ValidateWebsite(newWebsite(repo(test.repo))), want)
		})
	}
}

// TestGitRepoErrorHidesCredentials keeps passwords out of error messages, which
// end up in logs, events and terminals.
func TestGitRepoErrorHidesCredentials(t *testing.T) {
	for _, r := range []string{"https://user:secret@example.com/site.git", "ssh://git:secret@example.com/site.git"} {
		if msg := ValidateWebsite(newWebsite(repo(r))).ToAggregate().Error(); strings.Contains(msg, "secret") {
			t.Errorf("the error for %s shows the password: %s", r, msg)
		}
	}
}

func TestValidateWebsiteUpdate(t *testing.T) {
	tests := map[string]struct {
		updated *website.Website
		want    []string
	}{
		"nothing changed":    {updated: newWebsite()},
		"other repository":   {updated: newWebsite(repo("https://example.com/other.git"))},
		"scaled":             {updated: newWebsite(replicas(5))},
		"deployment renamed": {updated: newWebsite(deployment("other")), want: []string{"spec.deploymentName: Invalid: field is immutable"}},
		"deployment removed": {updated: newWebsite(deployment("")), want: []string{"spec.deploymentName: Required: "}},
		"made invalid":       {updated: newWebsite(replicas(-1), repo("-x")), want: []string{"spec.gitRepo: Invalid: must not begin", "spec.replicas: Invalid: must be greater"}},
		"Website renamed":    {updated: newWebsite(named("other")), want: []string{"metadata.name: Invalid: field is immutable"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkErrors(t, ValidateWebsiteUpdate(test.updated, newWebsite()), test.want)
		})
	}
}

func TestValidateWebsiteStatusUpdate(t *testing.T) {
	tests := map[string]struct {
		available int32
		want      []string
	}{
		"some pods":     {available: 3},
		"no pods":       {available: 0},
		"negative pods": {available: -1, want: []string{"status.availableReplicas: Invalid: must be greater than or equal to 0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(func(w *website.Website) { w.Status.AvailableReplicas = test.available })
			checkErrors(t, ValidateWebsiteStatusUpdate(updated, newWebsite()), test.want)
		})
	}
}
