package agentkeys

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	namespace = "website-system"
	name      = "website-controller-keys"
	pod       = "uid-of-a-pod"
)

var parameters = url.Values{requests.ParameterHold: {"true"}}

type fixture struct {
	t     *testing.T
	kube  *fake.Clientset
	clock *testingclock.FakeClock
}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	return &fixture{t: t, kube: fake.NewClientset(objects...),
		clock: testingclock.NewFakeClock(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))}
}

// controller is a replica of the controller.
func (f *fixture) controller() *Keys {
	return New(Config{Secrets: f.kube.CoreV1().Secrets(namespace), Name: name, Clock: f.clock})
}

func (f *fixture) check(k *Keys) {
	f.t.Helper()
	if !k.check(f.t.Context()) {
		f.t.Fatal("the keys are not known")
	}
}

// accepts reports whether an agent with public keys accepts a request of a controller.
func (f *fixture) accepts(public string, k *Keys) bool {
	f.t.Helper()
	keys, err := requests.ParsePublicKeys([]byte(public))
	if err != nil {
		f.t.Fatal(err)
	}
	return requests.Verify(keys, pod, k.Sign(pod, parameters), parameters, f.clock.Now()) == nil
}

func (f *fixture) secret() *corev1.Secret {
	f.t.Helper()
	secret, err := f.kube.CoreV1().Secrets(namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return secret
}

// TestControllersShareKeys: the keys are made once, for each replica of the controller and for
// the one after a restart.
func TestControllersShareKeys(t *testing.T) {
	f := newFixture(t)
	first := f.controller()
	if header := first.Sign(pod, parameters); header != "" || first.Public() != "" {
		t.Errorf("before there are keys: %q", header)
	}
	f.check(first)
	second := f.controller()
	f.check(second)
	if first.Public() == "" || first.Public() != second.Public() {
		t.Errorf("two controllers publish\n%s\n%s", first.Public(), second.Public())
	}
	if !f.accepts(first.Public(), second) || !f.accepts(second.Public(), first) {
		t.Error("requests are refused")
	}
	if data := f.secret().Data; len(data) != 1 || len(data[SecretKey]) == 0 {
		t.Errorf("the Secret has %d keys", len(data))
	}
}

// TestRotation: a key signs only after it was published for a period, and is published as long
// as it signs. Nothing changes between rotations.
func TestRotation(t *testing.T) {
	f := newFixture(t)
	k := f.controller()
	f.check(k)
	for range 3 {
		before := k.Public()
		f.clock.Step(rotationPeriod - time.Second)
		f.check(k)
		if k.Public() != before {
			t.Fatal("the keys rotate before it is time")
		}
		f.clock.Step(time.Second)
		f.check(k)
		if k.Public() == before {
			t.Fatal("the keys do not rotate")
		}
		if !f.accepts(before, k) {
			t.Error("an agent with the keys of before refuses a request")
		}
		if !f.accepts(k.Public(), k) {
			t.Error("an agent with the keys of now refuses a request")
		}
	}
	// A controller that was away for long comes back with a key that all agents know.
	before := k.Public()
	f.clock.Step(100 * rotationPeriod)
	f.check(k)
	if !f.accepts(before, k) {
		t.Error("after a long time an agent refuses a request")
	}
}

// TestDeletedSecret: the keys of a Secret that was deleted are not used any more.
func TestDeletedSecret(t *testing.T) {
	f := newFixture(t)
	k := f.controller()
	f.check(k)
	before := k.Public()
	if err := f.kube.CoreV1().Secrets(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.check(k)
	if f.accepts(before, k) || !f.accepts(k.Public(), k) {
		t.Error("requests are signed with a key of before")
	}
}

// TestUnusableSecret: an invalid key is replaced, also in an empty Secret that a user created.
func TestUnusableSecret(t *testing.T) {
	for content, data := range map[string]map[string][]byte{
		"nothing":     nil,
		"no JSON":     {SecretKey: []byte("nonsense")},
		"no keys":     {SecretKey: []byte(`{"keys":[]}`)},
		"another key": {SecretKey: []byte(`{"keys":[{"created":"2026-11-23T12:00:00Z","key":{"kty":"oct","k":"YQ"}}]}`)},
		"short key":   {SecretKey: []byte(`{"keys":[{"created":"2026-11-23T12:00:00Z","key":"YWJj"}]}`)},
		"no key":      {SecretKey: []byte(`{"keys":[{"created":"2026-11-23T12:00:00Z"}]}`)},
	} {
		t.Run(content, func(t *testing.T) {
			f := newFixture(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})
			k := f.controller()
			f.check(k)
			if !f.accepts(k.Public(), k) {
				t.Error("a request is refused")
			}
		})
	}
}

// interrupted are Secrets that another controller writes first, once.
type interrupted struct {
	corev1client.SecretInterface
	verb    string
	refused error
	other   func()
}

func (i *interrupted) interrupt(verb string) error {
	if verb != i.verb || i.other == nil {
		return nil
	}
	i.other()
	i.other = nil
	return i.refused
}

func (i *interrupted) Create(ctx context.Context, secret *corev1.Secret,
	options metav1.CreateOptions) (*corev1.Secret, error) {
	if err := i.interrupt("create"); err != nil {
		return nil, err
	}
	return i.SecretInterface.Create(ctx, secret, options)
}

func (i *interrupted) Update(ctx context.Context, secret *corev1.Secret,
	options metav1.UpdateOptions) (*corev1.Secret, error) {
	if err := i.interrupt("update"); err != nil {
		return nil, err
	}
	return i.SecretInterface.Update(ctx, secret, options)
}

// TestAnotherControllerWrites: two controllers that write at the same time both use the keys of the
// first write.
func TestAnotherControllerWrites(t *testing.T) {
	for verb, refused := range map[string]error{
		"create": apierrors.NewAlreadyExists(corev1.Resource("secrets"), name),
		"update": apierrors.NewConflict(corev1.Resource("secrets"), name, errors.New("modified")),
	} {
		t.Run(verb, func(t *testing.T) {
			f := newFixture(t)
			other := f.controller()
			if verb == "update" {
				f.check(other)
				f.clock.Step(rotationPeriod)
			}
			secrets := &interrupted{SecretInterface: f.kube.CoreV1().Secrets(namespace), verb: verb, refused: refused,
				other: func() { f.check(other) }}
			k := New(Config{Secrets: secrets, Name: name, Clock: f.clock})
			f.check(k)
			if secrets.other != nil || k.Public() != other.Public() {
				t.Errorf("two controllers publish\n%s\n%s", k.Public(), other.Public())
			}
		})
	}
}

// TestUnreadableSecret: while the Secret cannot be read, the last keys stay in use.
func TestUnreadableSecret(t *testing.T) {
	f := newFixture(t)
	k := f.controller()
	f.check(k)
	before := k.Public()
	f.kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), name, errors.New("no rule"))
	})
	if k.check(t.Context()) || k.Public() != before || !f.accepts(before, k) {
		t.Error("the keys are not known any more")
	}
	if other := f.controller(); other.check(t.Context()) || other.Public() != "" {
		t.Error("a controller without permission has keys")
	}
}

// TestRunReportsChanges: Run calls changed for each change of the public keys.
func TestRunReportsChanges(t *testing.T) {
	f := newFixture(t)
	k := f.controller()
	k.Load(t.Context())
	loaded := k.Public()
	ctx, cancel := context.WithCancel(t.Context())
	changes, ended := make(chan string, 10), make(chan struct{})
	go func() {
		defer close(ended)
		k.Run(ctx, func() { changes <- k.Public() })
	}()
	for !f.clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	f.clock.Step(rotationPeriod)
	if changed := <-changes; changed == loaded || changed == "" {
		t.Errorf("the keys are %q, before %q", changed, loaded)
	}
	cancel()
	<-ended
	if len(changes) != 0 {
		t.Errorf("%d more changes", len(changes))
	}
}
