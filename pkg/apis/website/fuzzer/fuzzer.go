// Package fuzzer fills Websites with random valid values, for tests of
// conversion, serialization and validation.
package fuzzer

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Funcs returns the fuzzing functions of the API group. They may set every field
// of the internal types, and always set the defaulted fields, because a round
// trip sets these.
func Funcs(serializer.CodecFactory) []any {
	return []any{
		fillSpec,
		fillServing,
		fillResources,
		fillStorage,
		fillScheduling,
		fillStatus,
		// Decoding sets the defaults before conversion.
		func(w *v1beta1.Website, c randfill.Continue) {
			c.FillNoCustom(w)
			v1beta1.SetObjectDefaults_Website(w)
		},
	}
}

func fillSpec(spec *v1beta1.WebsiteSpec, c randfill.Continue) {
	c.Fill(&spec.Serving)
	c.Fill(&spec.Resources)
	c.Fill(&spec.Storage)
	c.Fill(&spec.Scheduling)
	replicas := c.Int31n(10)
	spec.DeploymentName = "d" + word(c)
	spec.Replicas = &replicas
	spec.Suspend = pick(c, nil, new(false), new(true))
	spec.Pin = nil
	if c.Bool() {
		spec.Pin = &v1beta1.WebsitePin{Commit: commit(c), Cause: pick(c, "", v1beta1.PinCauseSuspend)}
	}
	git := &v1beta1.GitSource{
		Repository: pick(c, "https://example.com/", "ssh://git@example.com/", "git@example.com:") + word(c) + ".git",
		Ref:        reference(c),
		Submodules: pick(c, v1beta1.SubmodulesNone, v1beta1.SubmodulesShallow, v1beta1.SubmodulesRecursive),

		CredentialScope: pick(c, v1beta1.CredentialScopeRepository, v1beta1.CredentialScopeHost),
	}
	if c.Bool() {
		git.SecretRef = &v1beta1.SecretReference{Name: word(c)}
	}
	switch c.Intn(3) {
	case 0:
		git.CARef = &v1beta1.CAReference{ConfigMapName: word(c), Key: word(c)}
	case 1:
		git.CARef = &v1beta1.CAReference{SecretName: word(c), Key: word(c)}
	}
	spec.Source = v1beta1.WebsiteSource{Git: git, Path: pick(c, "", word(c), word(c)+"/"+word(c), word(c)+" é/日本")}
	spec.Polling = v1beta1.WebsitePolling{
		Mode:          pick(c, v1beta1.PollingModePeriodic, v1beta1.PollingModeNever),
		PeriodSeconds: 10 + c.Int31n(86391), TimeoutSeconds: 10 + c.Int31n(3591),
	}
	spec.Service = v1beta1.WebsiteService{Type: pick(c, v1beta1.ServiceTypeNodePort, v1beta1.ServiceTypeClusterIP,
		v1beta1.ServiceTypeLoadBalancer)}
	if spec.Service.Type != v1beta1.ServiceTypeClusterIP && c.Bool() {
		spec.Service.NodePort = 1 + c.Int31n(65535)
	}
	if spec.Service.Type == v1beta1.ServiceTypeLoadBalancer && c.Bool() {
		spec.Service.LoadBalancerClass = "example.com/" + word(c)
		spec.Service.Annotations = map[string]string{"example.com/" + word(c): word(c)}
	}
	fillHosts(spec, c)
	fillAccess(spec, c)
}

func fillAccess(spec *v1beta1.WebsiteSpec, c randfill.Continue) {
	users := func() v1beta1.WebsiteAccess {
		if c.Bool() {
			return v1beta1.WebsiteAccess{}
		}
		return v1beta1.WebsiteAccess{BasicAuth: &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: word(c)}}}
	}
	spec.Access, spec.Previews = users(), nil
	if c.Bool() {
		spec.Previews = &v1beta1.WebsitePreviews{
			Branches: []string{word(c), word(c) + "/ä-*"}, MaxCount: 1 + c.Int31n(50),
			Domain: pick(c, "", word(c)+".example.com"), Access: users(),
		}
	}
	if spec.Previews != nil && c.Bool() {
		spec.Previews.TTLSeconds = ptr.To(3600 + c.Int31n(100000))
	}
}

func fillHosts(spec *v1beta1.WebsiteSpec, c randfill.Continue) {
	spec.Hosts, spec.Routing, spec.TLS = nil, v1beta1.WebsiteRouting{}, nil
	for i := range c.Intn(4) {
		spec.Hosts = append(
			spec.Hosts, v1beta1.WebsiteHost{Name: pick(c, "", "*.") + fmt.Sprintf("%s%d.example.com", word(c), i),
				Role: v1beta1.HostRoleAlias},
		)
	}
	if len(spec.Hosts) == 0 {
		return
	}
	if canonical := &spec.Hosts[0]; !strings.HasPrefix(canonical.Name, "*.") && c.Bool() {
		canonical.Role = v1beta1.HostRoleCanonical
		for i := range spec.Hosts[1:] {
			spec.Hosts[i+1].Role = pick(c, v1beta1.HostRoleAlias, v1beta1.HostRoleRedirect)
		}
	}
	switch c.Intn(4) {
	case 0:
		spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeSecret, SecretRef: &v1beta1.SecretReference{Name: word(c)}}
	case 1:
		issuer := &v1beta1.IssuerReference{Group: word(c) + ".example.com",
			Kind: pick(c, "Issuer", "ClusterIssuer", word(c)), Name: word(c)}
		spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeIssuer, IssuerRef: issuer}
	case 2:
		spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeListener}
	}
	if spec.TLS != nil {
		spec.TLS.Redirect = new(c.Bool())
	}
	switch c.Intn(3) {
	case 0:
		for range 1 + c.Intn(3) {
			parent := v1beta1.ParentReference{Namespace: pick(c, "", word(c)), Name: word(c)}
			if spec.TLS == nil || spec.TLS.Mode == v1beta1.TLSModeListener {
				parent.SectionName = pick(c, "", word(c))
			}
			spec.Routing.ParentRefs = append(spec.Routing.ParentRefs, parent)
		}
	case 1:
		spec.Routing.IngressClassName = word(c)
	}
}

func reference(c randfill.Continue) *v1beta1.GitReference {
	switch c.Intn(6) {
	case 0:
		return &v1beta1.GitReference{Branch: word(c) + "/" + pick(c, word(c), "ä-日本")}
	case 1:
		return &v1beta1.GitReference{Tag: "v" + word(c)}
	case 2:
		return &v1beta1.GitReference{Commit: commit(c)}
	case 3:
		return &v1beta1.GitReference{Name: "refs/pull/" + word(c) + "/head"}
	case 4:
		return &v1beta1.GitReference{}
	}
	return nil
}

func fillServing(serving *v1beta1.WebsiteServing, c randfill.Continue) {
	*serving = v1beta1.WebsiteServing{
		Index:        word(c) + ".html",
		NotFoundPath: "/" + word(c) + ".html",
		Fallback:     pick(c, v1beta1.FallbackNone, v1beta1.FallbackSPA),
		Charset:      pick(c, "UTF-8", "windows-1252", v1beta1.CharsetNone),
	}
	for i := range c.Intn(4) {
		contentType := v1beta1.ContentType{Type: word(c) + "/" + word(c) + pick(c, "", "; charset=utf-8")}
		if c.Bool() {
			contentType.Path = fmt.Sprintf("/%d/%s", i, word(c)) + pick(c, "", "/*")
		} else {
			contentType.Extension = fmt.Sprintf("%s%d", word(c), i)
		}
		serving.Types = append(serving.Types, contentType)
	}
	for i := range c.Intn(4) {
		serving.Redirects = append(serving.Redirects, v1beta1.Redirect{
			From:       fmt.Sprintf("/%d/%s", i, word(c)),
			To:         pick(c, "/", "https://example.com/") + word(c),
			StatusCode: pick[int32](c, 301, 302, 303, 307, 308),
		})
	}
	for i := range c.Intn(4) {
		serving.Headers = append(serving.Headers, v1beta1.ResponseHeader{
			Path: "/" + word(c), Name: fmt.Sprintf("X-%d-%s", i, word(c)), Value: `"` + word(c) + `"; ` + word(c),
		})
	}
}

func fillResources(resources *v1beta1.WebsiteResources, c randfill.Continue) {
	for _, requirements := range []*corev1.ResourceRequirements{&resources.Server, &resources.Sync} {
		*requirements = corev1.ResourceRequirements{}
		if c.Bool() {
			amount := 1 + c.Int63n(1000)
			requirements.Limits = corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(2*amount, resource.DecimalSI)}
			requirements.Requests = corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(amount, resource.DecimalSI)}
		}
	}
}

func fillStorage(storage *v1beta1.WebsiteStorage, c randfill.Continue) {
	*storage = v1beta1.WebsiteStorage{}
	if c.Bool() {
		storage.SizeLimit = resource.NewQuantity(64<<20+c.Int63n(1<<40), resource.BinarySI)
	}
}

func fillScheduling(scheduling *v1beta1.WebsiteScheduling, c randfill.Continue) {
	*scheduling = v1beta1.WebsiteScheduling{}
	if c.Bool() {
		scheduling.NodeSelector = map[string]string{"example.com/" + word(c): word(c)}
	}
	if c.Bool() {
		seconds := c.Int63n(1000)
		scheduling.Tolerations = []corev1.Toleration{
			{Key: word(c), Operator: corev1.TolerationOpEqual, Value: word(c), Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: &seconds},
			{Operator: corev1.TolerationOpExists},
		}
	}
}

func fillStatus(status *v1beta1.WebsiteStatus, c randfill.Continue) {
	c.FillNoCustom(status)
	for _, replicas := range []*int32{&status.Replicas, &status.UpdatedReplicas, &status.ReadyReplicas,
		&status.AvailableReplicas} {
		*replicas = c.Int31n(10)
	}
	status.ObservedGeneration = c.Int63n(1000)
	status.Selector = "controller=" + word(c)
	status.Commit = pick(c, "", commit(c))
	status.NodePort = c.Int31n(65536)
	for i := range status.URLs {
		status.URLs[i] = "https://example.com/" + word(c)
	}
	status.Hosts = nil
	for i := range c.Intn(3) {
		host := v1beta1.WebsiteHostStatus{Name: fmt.Sprintf("%s%d.example.com", word(c), i)}
		if c.Bool() {
			host.Conditions = []metav1.Condition{{
				Type: v1beta1.HostRouted, Status: pick(c, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown),
				Reason: word(c), Message: word(c),
				ObservedGeneration: c.Int63n(1000), LastTransitionTime: seconds(c),
			}}
		}
		if c.Bool() {
			host.CertificateExpirationTime = new(seconds(c))
		}
		status.Hosts = append(status.Hosts, host)
	}
	status.Previews = nil
	for i := range c.Intn(3) {
		status.Previews = append(status.Previews, v1beta1.WebsitePreviewStatus{
			Branch: fmt.Sprintf("%s%d", pick(c, word(c), "日本"), i), WebsiteName: pick(c, "", word(c)),
			Commit:         strings.Repeat("a", 40),
			LastCommitTime: seconds(c),
		})
	}
	status.Sync = nil
	if c.Bool() {
		status.Sync = syncStatus(c)
	}
	status.History = nil
	for range c.Intn(3) {
		release := v1beta1.WebsiteRelease{
			Commit: commit(c), Subject: word(c), Author: word(c), PublishedTime: seconds(c),
			Cause: pick(c, v1beta1.ReleaseCausePoll, v1beta1.ReleaseCauseSync, v1beta1.ReleaseCauseSpec,
				v1beta1.ReleaseCauseRollback),
		}
		if c.Bool() {
			release.ObservedTime = new(release.PublishedTime)
		}
		status.History = append(status.History, release)
	}
}

func syncStatus(c randfill.Continue) *v1beta1.WebsiteSyncStatus {
	sync := &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 1 + c.Int63n(1000), Time: seconds(c),
		By: word(c), Commit: pick(c, "", commit(c))}}
	if c.Bool() {
		sync.StartedID = sync.LastRequest.ID
	}
	if c.Bool() {
		sync.LastCompleted = &v1beta1.WebsiteSyncCompletion{
			ID: sync.LastRequest.ID, Time: seconds(c), Result: pick(c, v1beta1.SyncSucceeded, v1beta1.SyncFailed),
			Reason: word(c), Message: word(c), Commit: pick(c, "", commit(c)),
		}
	}
	return sync
}

// seconds returns a time in its encoded precision.
func seconds(c randfill.Continue) metav1.Time {
	return metav1.Unix(1+c.Int63n(2_000_000_000), 0)
}

// word returns some lower-case letters, which are valid in every string field.
func word(c randfill.Continue) string {
	letters := make([]byte, 1+c.Intn(8))
	for i := range letters {
		letters[i] = 'a' + byte(c.Intn(26))
	}
	return string(letters)
}

func commit(c randfill.Continue) string {
	return strings.Repeat(fmt.Sprintf("%08x", c.Uint32()), pick(c, 5, 8))
}

func pick[T any](c randfill.Continue, choices ...T) T { return choices[c.Intn(len(choices))] }
