// Package fuzzer fills Websites with random but legal values, for the tests
// that convert, serialize and validate them.
package fuzzer

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Funcs returns the fuzzing functions of the API group. Every field of the hub
// is set now and then; none that a default would fill in is left empty, because
// a round trip cannot keep it so.
func Funcs(serializer.CodecFactory) []any {
	return []any{
		fillSpec,
		fillServing,
		fillResources,
		fillScheduling,
		fillStatus,
		// Objects of v1beta1 reach the hub with its defaults.
		func(w *v1beta1.Website, c randfill.Continue) {
			c.FillNoCustom(w)
			v1beta1.SetObjectDefaults_Website(w)
		},
	}
}

func fillSpec(spec *website.WebsiteSpec, c randfill.Continue) {
	c.Fill(&spec.Serving)
	c.Fill(&spec.Resources)
	c.Fill(&spec.Scheduling)
	replicas := c.Int31n(10)
	spec.DeploymentName = "d" + word(c)
	spec.Replicas = &replicas
	spec.Suspend = c.Bool()
	spec.Source = website.WebsiteSource{
		Repository: pick(c, "https://example.com/", "ssh://git@example.com/", "git@example.com:") + word(c) + ".git",
		Ref:        reference(c),
		Path:       pick(c, "", word(c), word(c)+"/"+word(c)),
		Submodules: pick(c, website.SubmodulesOff, website.SubmodulesShallow, website.SubmodulesRecursive),

		CredentialScope: pick(c, website.CredentialScopeRepository, website.CredentialScopeHost),
	}
	if c.Bool() {
		spec.Source.SecretRef = &website.SecretReference{Name: word(c)}
	}
	spec.Sync = website.WebsiteSync{PeriodSeconds: 10 + c.Int31n(86391), TimeoutSeconds: 10 + c.Int31n(3591)}
	spec.Service = website.WebsiteService{Type: pick(c, website.ServiceTypeNodePort, website.ServiceTypeClusterIP, website.ServiceTypeLoadBalancer)}
	if spec.Service.Type != website.ServiceTypeClusterIP && c.Bool() {
		spec.Service.NodePort = 1 + c.Int31n(65535)
	}
}

func reference(c randfill.Continue) *website.GitReference {
	switch c.Intn(6) {
	case 0:
		return &website.GitReference{Branch: word(c) + "/" + word(c)}
	case 1:
		return &website.GitReference{Tag: "v" + word(c)}
	case 2:
		return &website.GitReference{Commit: commit(c)}
	case 3:
		return &website.GitReference{Name: "refs/pull/" + word(c) + "/head"}
	case 4:
		return &website.GitReference{}
	}
	return nil
}

func fillServing(serving *website.WebsiteServing, c randfill.Continue) {
	*serving = website.WebsiteServing{
		Index:        word(c) + ".html",
		NotFoundPath: "/" + word(c) + ".html",
		Fallback:     pick(c, website.FallbackNone, website.FallbackSPA),
	}
	for i := range c.Intn(4) {
		serving.Redirects = append(serving.Redirects, website.Redirect{
			From: fmt.Sprintf("/%d/%s", i, word(c)),
			To:   pick(c, "/", "https://example.com/") + word(c),
			Code: pick[int32](c, 301, 302, 303, 307, 308),
		})
	}
	for i := range c.Intn(4) {
		serving.Headers = append(serving.Headers, website.ResponseHeader{
			Path: "/" + word(c), Name: fmt.Sprintf("X-%d-%s", i, word(c)), Value: `"` + word(c) + `"; ` + word(c),
		})
	}
}

func fillResources(resources *website.WebsiteResources, c randfill.Continue) {
	for _, requirements := range []*corev1.ResourceRequirements{&resources.Server, &resources.Sync} {
		*requirements = corev1.ResourceRequirements{}
		if c.Bool() {
			amount := 1 + c.Int63n(1000)
			requirements.Limits = corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(2*amount, resource.DecimalSI)}
			requirements.Requests = corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(amount, resource.DecimalSI)}
		}
	}
}

func fillScheduling(scheduling *website.WebsiteScheduling, c randfill.Continue) {
	*scheduling = website.WebsiteScheduling{}
	if c.Bool() {
		scheduling.NodeSelector = map[string]string{"example.com/" + word(c): word(c)}
	}
	if c.Bool() {
		seconds := c.Int63n(1000)
		scheduling.Tolerations = []corev1.Toleration{
			{Key: word(c), Operator: corev1.TolerationOpEqual, Value: word(c), Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			{Operator: corev1.TolerationOpExists},
		}
	}
}

func fillStatus(status *website.WebsiteStatus, c randfill.Continue) {
	c.FillNoCustom(status)
	for _, replicas := range []*int32{&status.Replicas, &status.UpdatedReplicas, &status.ReadyReplicas, &status.AvailableReplicas} {
		*replicas = c.Int31n(10)
	}
	status.ObservedGeneration = c.Int63n(1000)
	status.Selector = "controller=" + word(c)
	status.Commit = pick(c, "", commit(c))
	status.NodePort = c.Int31n(65536)
	for i := range status.Urls {
		status.Urls[i] = "https://example.com/" + word(c)
	}
}

// word returns a few lower-case letters: legal in every string of the API.
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
