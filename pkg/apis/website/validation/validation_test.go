package validation

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
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
			Source:         website.WebsiteSource{Repository: "https://github.com/nevermosby/kubia-website-example.git", Submodules: website.SubmodulesOff},
			DeploymentName: "kubia-website",
			Replicas:       ptr.To[int32](1),
			Sync:           website.WebsiteSync{PeriodSeconds: 60, TimeoutSeconds: 120},
			Serving:        website.WebsiteServing{Index: "index.html", NotFoundPath: "/404.html", Fallback: website.FallbackNone},
			Service:        website.WebsiteService{Type: website.ServiceTypeNodePort},
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
	return func(w *website.Website) { w.Spec.Source.Repository = repo }
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
		"no deployment name":  {website: newWebsite(deployment("")), want: []string{"spec.deploymentName: Required: the name of the Deployment"}},
		"deployment with dot": {website: newWebsite(deployment("a.b")), want: []string{"spec.deploymentName: Invalid: DNS-1035"}},
		"deployment with a digit first": {
			website: newWebsite(deployment("1a")), want: []string{"spec.deploymentName: Invalid: start with an alphabetic character"},
		},
		"annotation that only v1alpha1 has": {
			website: newWebsite(func(w *website.Website) { w.Annotations = map[string]string{website.AnnotationV1beta1Fields: "{}"} }),
			want:    []string{"metadata.annotations[mycontroller.nevermosby.io/v1beta1-fields]: Forbidden: version v1alpha1 only"},
		},
		"everything missing": {
			website: &website.Website{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}},
			want:    []string{"spec.source.repository: Required: the git repository", "spec.deploymentName: Required: "},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkErrors(t, ValidateWebsite(test.website), test.want)
		})
	}
}

func TestValidateRepository(t *testing.T) {
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
		"as long as can be":         {repo: "https://example.com/" + strings.Repeat("a", maxRepositoryLength-len("https://example.com/"))},
		"too long":                  {repo: "https://example.com/" + strings.Repeat("a", maxRepositoryLength), want: "TooLong: may not be more than 2048"},
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
				want = []string{"spec.source.repository: " + test.want}
			}
			checkErrors(t, ValidateWebsite(newWebsite(repo(test.repo))), want)
		})
	}
}

// TestRepositoryErrorHidesCredentials keeps passwords and tokens out of error
// messages, which end up in logs, events and terminals. The passwords begin with
// "sec" and end with "ret".
func TestRepositoryErrorHidesCredentials(t *testing.T) {
	tests := map[string]struct {
		address string
		want    string
		// goodTarget is for what is refused as a repository only.
		goodTarget bool
	}{
		"password":                   {address: "https://user:secret@h/x", want: "https://user:xxxxx@h/x"},
		"password in ssh":            {address: "ssh://git:secret@h/x", want: "ssh://git:xxxxx@h/x"},
		"token":                      {address: "https://secret@github.com/o/r.git", want: "https://xxxxx@github.com/o/r.git"},
		"token, empty password":      {address: "https://secret:@h/x", want: "https://xxxxx@h/x"},
		"token, marked as such":      {address: "https://secret:x-oauth-basic@h/x", want: "https://xxxxx@h/x"},
		"token in ssh, with marker":  {address: "ssh://secret:x-oauth-basic@h/x", want: "ssh://xxxxx@h/x"},
		"illegal character":          {address: "https://u:sec^ret@h/x", want: "https://u:xxxxx@h/x"},
		"space before it":            {address: " https://u:secret@h/x", want: " https:xxxxx@h/x"},
		"dash before it":             {address: "-https://secret@h/x", want: "-https:xxxxx@h/x"},
		"bad percent encoding":       {address: "https://u:sec%zzret@h/x", want: "https://u:xxxxx@h/x"},
		"number sign":                {address: "https://u:sec#ret@h/x", want: "https://u:xxxxx@h/x"},
		"number sign in a token":     {address: "https://sec#ret@h/x", want: "https://xxxxx@h/x", goodTarget: true},
		"slash":                      {address: "https://u:sec/ret@h/x", want: "https://u:xxxxx@h/x"},
		"question mark":              {address: "https://u:sec?ret@h/x", want: "https://u:xxxxx@h/x"},
		"at sign":                    {address: "https://u:sec@ret@h/x", want: "https://u:xxxxx@h/x"},
		"colon":                      {address: "https://u:sec:ret@h/x", want: "https://u:xxxxx@h/x"},
		"like a scheme":              {address: "u:sec://ret@h/x", want: "u:xxxxx@h/x"},
		"scheme in upper case":       {address: "HTTPS://u:secret@h/x", want: "HTTPS://u:xxxxx@h/x"},
		"token, scheme so":           {address: "HTTPS://secret@h/x", want: "HTTPS://xxxxx@h/x"},
		"git protocol":               {address: "git://u:secret@h/x", want: "git://u:xxxxx@h/x"},
		"ftp":                        {address: "ftp://u:secret@h/x", want: "ftp://u:xxxxx@h/x"},
		"token in ftp":               {address: "ftp://secret@h/x", want: "ftp://xxxxx@h/x"},
		"one slash":                  {address: "https:/secret@h/x", want: "https:xxxxx@h/x"},
		"no scheme":                  {address: "//u:secret@h/x", want: "//u:xxxxx@h/x"},
		"password in the scp form":   {address: "u:secret@h:x.git", want: "u:xxxxx@h:x.git"},
		"token before a bare host":   {address: "secret@github.com/o/r.git", want: "xxxxx@github.com/o/r.git"},
		"login name in ssh":          {address: "ssh://git@h", want: "ssh://git@h"},
		"login name in the scp form": {address: "git@h:-x", want: "git@h:-x"},
		"nothing to hide":            {address: "ftp://h/x", want: "ftp://h/x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			redirect := newWebsite(func(w *website.Website) {
				w.Spec.Serving.Redirects = []website.Redirect{{From: "/a", To: test.address, Code: 301}}
			})
			observed := newWebsite(func(w *website.Website) {
				w.Spec.Serving.Redirects = []website.Redirect{{From: "/a", To: "/b", Code: 301}}
				w.Status.Urls = []string{test.address}
			})
			found := map[string]field.ErrorList{
				"repository": ValidateWebsite(newWebsite(repo(test.address))),
				"redirect":   ValidateWebsite(redirect),
				"status":     ValidateWebsiteStatusUpdate(observed, newWebsite()),
			}
			for where, errs := range found {
				if len(errs) == 0 && !(test.goodTarget && where != "repository") {
					t.Errorf("%s: no error", where)
				}
				for _, err := range errs {
					if err.BadValue != test.want {
						t.Errorf("%s: the error shows %v, want %s", where, err.BadValue, test.want)
					}
					if msg := err.Error(); strings.Contains(msg, "sec") || strings.Contains(msg, "ret") {
						t.Errorf("%s: the error shows a part of the password: %s", where, msg)
					}
				}
			}
		})
	}
}

// TestValidateWebsiteUpdate starts from an old Website that breaks every rule:
// what is left as it is must not stop a change elsewhere.
func TestValidateWebsiteUpdate(t *testing.T) {
	stale := func(w *website.Website) {
		w.Annotations = map[string]string{website.AnnotationV1beta1Fields: "{}"}
		w.Spec = website.WebsiteSpec{
			DeploymentName: "Kubia",
			Source:         website.WebsiteSource{Repository: "-x", Ref: &website.GitReference{Branch: "-x"}, Path: "../x"},
			Serving: website.WebsiteServing{
				Index: "-x", NotFoundPath: "x",
				Redirects: []website.Redirect{{From: "x", To: "$", Code: 200}},
				Headers:   []website.ResponseHeader{{Path: "x", Name: "Connection", Value: "$"}},
			},
			Service:   website.WebsiteService{Type: website.ServiceTypeClusterIP, NodePort: 30000},
			Resources: website.WebsiteResources{Server: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "x"}}}, Sync: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "x"}}}},
			Scheduling: website.WebsiteScheduling{
				NodeSelector: map[string]string{"-": ""}, Tolerations: []corev1.Toleration{{}},
			},
		}
	}
	tests := map[string]struct {
		tweak func(*website.Website)
		want  []string
	}{
		"nothing changed":       {tweak: func(*website.Website) {}},
		"scaled":                {tweak: replicas(5)},
		"repository mended":     {tweak: repo("https://example.com/other.git")},
		"repository made worse": {tweak: repo("-y"), want: []string{"spec.source.repository: Invalid: must not begin with '-'"}},
		"repository removed":    {tweak: repo(""), want: []string{"spec.source.repository: Required: the git repository"}},
		"branch made worse":     {tweak: func(w *website.Website) { w.Spec.Source.Ref = &website.GitReference{Branch: "-y"} }, want: []string{"spec.source.ref.branch: Invalid: must not begin"}},
		"path made worse":       {tweak: func(w *website.Website) { w.Spec.Source.Path = "../y" }, want: []string{"spec.source.path: Invalid: must not contain the segment"}},
		"deployment renamed":    {tweak: deployment("other"), want: []string{"spec.deploymentName: Invalid: field is immutable"}},
		"deployment removed":    {tweak: deployment(""), want: []string{"spec.deploymentName: Invalid: field is immutable"}},
		"index made worse":      {tweak: func(w *website.Website) { w.Spec.Serving.Index = "-y" }, want: []string{"spec.serving.index: Invalid: must be the name of a file"}},
		"not found made worse":  {tweak: func(w *website.Website) { w.Spec.Serving.NotFoundPath = "y" }, want: []string{"spec.serving.notFoundPath: Invalid: must begin with '/'"}},
		"good redirect added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Redirects = append(w.Spec.Serving.Redirects, website.Redirect{From: "/a", To: "/b", Code: 301})
		}},
		"bad redirect added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Redirects = append(w.Spec.Serving.Redirects, website.Redirect{From: "y", To: "/b", Code: 301})
		}, want: []string{"spec.serving.redirects[1].from: Invalid: must begin with '/'"}},
		"good header added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Headers = append(w.Spec.Serving.Headers, website.ResponseHeader{Path: "/", Name: "X", Value: "y"})
		}},
		"header that names the commit added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Headers = append(w.Spec.Serving.Headers, website.ResponseHeader{Path: "/", Name: "Website-Commit", Value: "y"})
		}, want: []string{"spec.serving.headers[1].name: Invalid: must not be a header of the connection"}},
		"bad header added": {tweak: func(w *website.Website) {
			w.Spec.Serving.Headers = append(w.Spec.Serving.Headers, website.ResponseHeader{Path: "/", Name: "TE", Value: "y"})
		}, want: []string{"spec.serving.headers[1].name: Invalid: must not be a header of the connection"}},
		"service made worse":     {tweak: func(w *website.Website) { w.Spec.Service.NodePort = 30001 }, want: []string{"spec.service.nodePort: Forbidden: may only be set when"}},
		"resources made worse":   {tweak: func(w *website.Website) { w.Spec.Resources.Sync.Claims = []corev1.ResourceClaim{{Name: "y"}} }, want: []string{"spec.resources.sync.claims: Forbidden: no resource claims"}},
		"selector made worse":    {tweak: func(w *website.Website) { w.Spec.Scheduling.NodeSelector = map[string]string{"--": ""} }, want: []string{"spec.scheduling.nodeSelector: Invalid: name part must consist of"}},
		"tolerations made worse": {tweak: func(w *website.Website) { w.Spec.Scheduling.Tolerations = []corev1.Toleration{{}, {}} }, want: []string{"spec.scheduling.tolerations[0].operator: Invalid: must be Exists", "spec.scheduling.tolerations[1].operator: Invalid: must be Exists"}},
		"annotation made worse":  {tweak: func(w *website.Website) { w.Annotations[website.AnnotationV1beta1Fields] = "{} " }, want: []string{"metadata.annotations[mycontroller.nevermosby.io/v1beta1-fields]: Forbidden: v1alpha1 only"}},
		"annotation removed":     {tweak: func(w *website.Website) { w.Annotations = nil }},
		"Website renamed":        {tweak: named("other"), want: []string{"metadata.name: Invalid: field is immutable"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkErrors(t, ValidateWebsiteUpdate(newWebsite(stale, test.tweak), newWebsite(stale)), test.want)
		})
	}
}

func TestValidateWebsiteStatusUpdate(t *testing.T) {
	tests := map[string]struct {
		old, updated website.WebsiteStatus
		want         []string
	}{
		"a full status": {updated: website.WebsiteStatus{
			AvailableReplicas: 3, Selector: "app=website-nginx,controller=kubia", Commit: strings.Repeat("a", 40), Urls: []string{"http://10.0.0.1:30080"},
			Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Serving", LastTransitionTime: metav1.Now()}},
		}},
		"commit of SHA-256":     {updated: website.WebsiteStatus{Commit: strings.Repeat("a", 64)}},
		"abbreviated commit":    {updated: website.WebsiteStatus{Commit: "abc1234"}, want: []string{"status.commit: Invalid: 40 or 64 hexadecimal digits"}},
		"selector with a slip":  {updated: website.WebsiteStatus{Selector: "a in b"}, want: []string{"status.selector: Invalid: unable to parse"}},
		"url of another scheme": {updated: website.WebsiteStatus{Urls: []string{"http://example.com", "ftp://example.com"}}, want: []string{"status.urls[1]: Invalid: http:// URL"}},
		"condition twice": {updated: website.WebsiteStatus{Conditions: []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Serving", LastTransitionTime: metav1.Now()},
			{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Broken", LastTransitionTime: metav1.Now()},
		}}, want: []string{"status.conditions[1]: Duplicate: Ready"}},
		"condition without reason": {updated: website.WebsiteStatus{Conditions: []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now()},
		}}, want: []string{"status.conditions[0].reason: Required: "}},
		"what was wrong before stays": {
			old:     website.WebsiteStatus{Commit: "x", Selector: "a in b", Urls: []string{"x"}, Conditions: []metav1.Condition{{}}},
			updated: website.WebsiteStatus{Commit: "x", Selector: "a in b", Urls: []string{"x"}, Conditions: []metav1.Condition{{}}, ReadyReplicas: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			old, updated := newWebsite(), newWebsite()
			old.Status, updated.Status = test.old, test.updated
			checkErrors(t, ValidateWebsiteStatusUpdate(updated, old), test.want)
		})
	}
}
