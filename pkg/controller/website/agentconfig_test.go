package website

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/agentkeys"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// TestThePinReachesTheAgents: the controller writes spec.pin to the ConfigMap of the agents, deletes the
// ConfigMap when the pin is removed, and replaces no pod. Other changes of the spec, such as
// spec.replicas, do not change the ConfigMap.
func TestThePinReachesTheAgents(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(f.website(testName))
	before := f.deployment().Spec.Template.Spec
	change := func(edit func(website *v1beta1.Website)) {
		website := f.website(testName).DeepCopy()
		edit(website)
		website.Generation++
		if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website,
			website.Namespace); err != nil {
			t.Fatal(err)
		}
		f.cacheWebsite(website)
		f.forgetHistory()
		if problems := f.reconcile(testKey); len(problems) > 0 {
			t.Fatal(problems)
		}
		f.syncCaches()
		f.refreshWebsites()
	}
	for _, test := range []struct{ pin, write string }{
		{strings.Repeat("a", 40), "create ConfigMap "}, {strings.Repeat("b", 40), "update ConfigMap "},
		{"", "delete configmaps "},
	} {
		change(func(website *v1beta1.Website) { website.Spec.Pin = pinTo(test.pin) })
		if writes := f.childWrites(); !slices.Equal(writes, []string{test.write + testAgentConfigMap}) {
			t.Errorf("writes %q", writes)
		}
		if test.pin == "" {
			continue
		}
		got, err := requests.ParsePin([]byte(f.agentConfigMap().Data[requests.PinFile]))
		if want := (requests.Pin{Commit: test.pin, Generation: f.website(testName).Generation}); err != nil || got != want {
			t.Errorf("agents read %+v, %v, want %+v", got, err, want)
		}
	}
	if after := f.deployment().Spec.Template.Spec; !apiequality.Semantic.DeepEqual(before, after) {
		t.Error("the pods are replaced")
	}
	change(func(website *v1beta1.Website) { *website.Spec.Replicas++ })
	if writes := f.childWrites(); slices.ContainsFunc(writes,
		func(write string) bool { return strings.Contains(write, testAgentConfigMap) }) {
		t.Errorf("writes %q", writes)
	}
}

// TestKeysReachTheAgents: the controller writes the public keys to one ConfigMap per namespace. It keeps
// the ConfigMap while the keys are unknown, repairs it, and deletes it with the last Website.
func TestKeysReachTheAgents(t *testing.T) {
	f := newFixture(
		t, newWebsite(), newWebsite(withName("another"),
			func(website *v1beta1.Website) { website.Spec.DeploymentName = "another" }),
	)
	loaded := func(namespace string) *agentkeys.Keys {
		keys := agentkeys.New(agentkeys.Config{Secrets: f.kube.CoreV1().Secrets(namespace), Name: "keys"})
		keys.Load(t.Context())
		return keys
	}
	reconcile := func(key cache.ObjectName, want ...string) {
		t.Helper()
		f.forgetHistory()
		if problems := f.reconcile(key); len(problems) > 0 {
			t.Fatal(problems)
		}
		f.syncCaches()
		writes := slices.DeleteFunc(f.childWrites(),
			func(write string) bool { return !strings.Contains(write, keysConfigMap) })
		if !slices.Equal(writes, want) {
			t.Errorf("writes %q, want %q", writes, want)
		}
		if configMap, ok := live[*corev1.ConfigMap](f, keysConfigMap); ok {
			if got := configMap.Data[requests.KeysFile]; got != f.controller.reconciler.keys.Public() &&
				f.controller.reconciler.keys.Public() != "" {
				t.Errorf("agents read the keys %q", got)
			}
		}
	}
	first, repair := testKey, cache.NewObjectName(testNamespace, keysConfigMap)
	f.controller.reconciler.keys = agentkeys.New(agentkeys.Config{})
	reconcile(first)
	f.controller.reconciler.keys = loaded("website-system")
	reconcile(first, "create ConfigMap "+keysConfigMap)
	reconcile(cache.NewObjectName(testNamespace, "another"))
	f.controller.reconciler.keys = agentkeys.New(agentkeys.Config{})
	reconcile(first)
	f.controller.reconciler.keys = loaded("rotated")
	reconcile(first, "update ConfigMap "+keysConfigMap)
	edit(f, keysConfigMap, func(c *corev1.ConfigMap) { c.Data = map[string]string{requests.KeysFile: "others"} })
	f.syncCaches()
	reconcile(repair, "update ConfigMap "+keysConfigMap)
	// The cache does not show the ConfigMap yet: a Website must not write it once more.
	written := must[*corev1.ConfigMap](f, keysConfigMap)
	if err := f.indexerOf(&corev1.ConfigMap{}).Delete(written); err != nil {
		t.Fatal(err)
	}
	reconcile(first)
	// Without the label, the informer no longer selects the ConfigMap.
	edit(f, keysConfigMap, func(c *corev1.ConfigMap) { c.Labels = nil })
	if err := f.indexerOf(&corev1.ConfigMap{}).Delete(written); err != nil {
		t.Fatal(err)
	}
	reconcile(repair, "update ConfigMap "+keysConfigMap)

	f.uncacheWebsite(f.website("another"))
	reconcile(cache.NewObjectName(testNamespace, "another"))
	f.uncacheWebsite(f.website(testName))
	reconcile(first, "delete configmaps "+keysConfigMap)
	reconcile(first)
}

// TestTakenKeys: the controller reports a ConfigMap of another client and does not change it.
func TestTakenKeys(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.store(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: keysConfigMap, Namespace: testNamespace, UID: "foreign"}},
	)
	f.controller.reconciler.keys = agentkeys.New(
		agentkeys.Config{Secrets: f.kube.CoreV1().Secrets("website-system"), Name: "keys"},
	)
	f.controller.reconciler.keys.Load(t.Context())
	problems := f.reconcile(testKey)
	if len(problems) != 1 || problems[0].Reason != v1beta1.WebsiteReasonNameTaken ||
		!strings.Contains(problems[0].Message, "delete it") {
		t.Errorf("problems %v", problems)
	}
	if data := must[*corev1.ConfigMap](f, keysConfigMap).Data; data != nil {
		t.Errorf("it has %v", data)
	}
}

const keysConfigMap = resources.AgentKeysConfigMapName

// pinTo returns a pin to commit, or nil if commit is empty.
func pinTo(commit string) *v1beta1.WebsitePin {
	if commit == "" {
		return nil
	}
	return &v1beta1.WebsitePin{Commit: commit}
}
