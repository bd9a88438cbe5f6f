package etcdcert

import (
	"bytes"
	"crypto/x509"
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/cert"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

// rotated is a Config with the two workloads, whose pods follow when the test says so.
type rotated struct {
	Config
	now *clocktesting.FakePassiveClock
	// trusts is the bundle with which the pods of each workload have started.
	trusts map[string][]byte
	// served is the current certificate of each Secret, former are those before it and when
	// they were replaced.
	served map[string][]byte
	former map[string]time.Time
}

func newRotated(t *testing.T) *rotated {
	t.Helper()
	c, now := newConfig()
	r := &rotated{Config: c, now: now, trusts: map[string][]byte{}, served: map[string][]byte{}, former: map[string]time.Time{}}
	ctx, apps := t.Context(), c.Client.AppsV1()
	if _, err := apps.StatefulSets(c.Namespace).Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)},
		Status: appsv1.StatefulSetStatus{UpdatedReplicas: 3, ReadyReplicas: 3},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := apps.Deployments(c.Namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: c.Servers}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)},
		Status: appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ensured(t, c)
	for _, name := range []string{c.Name, c.Servers} {
		r.trusts[name] = r.entry(t, "server", caCert)
	}
	return r
}

// entry reads an entry of a Secret.
func (r *rotated) entry(t *testing.T, secret, entry string) []byte {
	t.Helper()
	s, err := r.Client.CoreV1().Secrets(r.Namespace).Get(t.Context(), r.Name+"-"+secret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Data[entry]
}

// request asks for a new CA.
func (r *rotated) request(t *testing.T) {
	t.Helper()
	secrets := r.Client.CoreV1().Secrets(r.Namespace)
	secret, err := secrets.Get(t.Context(), r.Name+"-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, AnnotationRotate, "now")
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ensure runs Ensure, and returns whether a rotation is under way.
func (r *rotated) ensure(t *testing.T) bool {
	t.Helper()
	rotating, err := r.Config.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rotating
}

// roll has the pods of a workload started again that are to be, and reports whether they were.
func (r *rotated) roll(t *testing.T, name string) bool {
	t.Helper()
	workloads, err := r.workloads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
	bundle := r.entry(t, "client", caCert)
	if got := workloads[i].annotations[annotationTrust]; got == "" || got != trust(bundle) || bytes.Equal(r.trusts[name], bundle) {
		return false
	}
	r.trusts[name] = bundle
	return true
}

// requireTrusted fails the test if a pod does not trust a certificate that another one may
// have: the one in the Secret, or the one before it if that was replaced a moment ago. A pod
// may also be started by itself at any time.
func (r *rotated) requireTrusted(t *testing.T) {
	t.Helper()
	inUse := [][]byte{}
	for _, secret := range []string{"server", "client"} {
		current := r.entry(t, secret, "tls.crt")
		if last := r.served[secret]; last != nil && !bytes.Equal(last, current) {
			r.former[string(last)] = r.now.Now()
		}
		r.served[secret] = current
		inUse = append(inUse, current)
	}
	for former, replaced := range r.former {
		if r.now.Now().Before(replaced.Add(r.PropagationDelay)) {
			inUse = append(inUse, []byte(former))
		}
	}
	r.trusts["a new pod"] = r.entry(t, "server", caCert)
	for name, bundle := range r.trusts {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(bundle)
		for _, content := range inUse {
			leaves, err := cert.ParseCertsPEM(content)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := leaves[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: r.now.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
				t.Errorf("%s does not trust a certificate of %s that is in use: %v", name, leaves[0].Subject, err)
			}
		}
	}
}

// The next CA signs once every pod trusts it, and the former one is trusted until every pod
// has a certificate of the next.
func TestCARotation(t *testing.T) {
	for name, begin := range map[string]func(*testing.T, *rotated){
		"requested": func(t *testing.T, r *rotated) { t.Helper(); r.request(t) },
		"due": func(_ *testing.T, r *rotated) {
			r.now.SetTime(r.now.Now().Add(r.CALifetime*2/3 + day))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRotated(t)
			begin(t, r)
			ca := r.entry(t, "ca", "tls.crt")
			if !r.ensure(t) {
				t.Fatal("no rotation has begun")
			}
			before := r.entry(t, "server", "tls.crt")
			var rolled []string
			for step := 0; r.ensure(t); step++ {
				if step > 100 {
					t.Fatal("the rotation does not end")
				}
				r.requireTrusted(t)
				for _, workload := range []string{r.Name, r.Servers} {
					if r.roll(t, workload) {
						rolled = append(rolled, workload)
						r.requireTrusted(t)
					}
				}
				r.now.SetTime(r.now.Now().Add(r.PropagationDelay / 2))
			}
			if want := []string{"etcd", "servers", "etcd", "servers"}; !slices.Equal(rolled, want) {
				t.Errorf("restarted were %v, want %v", rolled, want)
			}
			if bytes.Equal(r.entry(t, "ca", "tls.crt"), ca) || bytes.Equal(r.entry(t, "server", "tls.crt"), before) {
				t.Error("the CA or the certificate is the former one")
			}
			if got := r.entry(t, "server", caCert); !bytes.Equal(got, r.entry(t, "ca", "tls.crt")) {
				t.Errorf("the bundle is %s", got)
			}
			if r.ensure(t) {
				t.Error("another rotation has begun")
			}
		})
	}
}

// As long as a pod is not ready, nothing continues, and no other one is restarted: it could be needed for the quorum.
func TestCARotationWaitsForPods(t *testing.T) {
	r := newRotated(t)
	ready := func(members int32) {
		t.Helper()
		stateful := r.Client.AppsV1().StatefulSets(r.Namespace)
		s, err := stateful.Get(t.Context(), r.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.Status.ReadyReplicas = members
		if _, err := stateful.UpdateStatus(t.Context(), s, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	goOn := func() {
		t.Helper()
		for range 20 {
			r.now.SetTime(r.now.Now().Add(r.PropagationDelay))
			if !r.ensure(t) {
				t.Fatal("the rotation has ended")
			}
		}
		if r.entry(t, "ca", "next.crt") == nil {
			t.Error("the next CA signs already")
		}
	}
	ready(2)
	r.request(t)
	r.ensure(t)
	goOn()
	if r.roll(t, r.Name) {
		t.Error("members are restarted while one is not ready")
	}
	ready(3)
	r.ensure(t)
	if !r.roll(t, r.Name) {
		t.Error("the members are not restarted")
	}
	ready(2)
	goOn()
	if r.roll(t, r.Servers) {
		t.Error("the servers are restarted before etcd is ready")
	}
}

// A request during a rotation is for another one, which begins when that one has ended.
func TestCARotationDuringAnother(t *testing.T) {
	r := newRotated(t)
	r.request(t)
	r.ensure(t)
	next := r.entry(t, "ca", "next.crt")
	r.request(t)
	for step := 0; r.ensure(t); step++ {
		if step > 100 {
			t.Fatal("the rotations do not end")
		}
		r.requireTrusted(t)
		r.roll(t, r.Name)
		r.roll(t, r.Servers)
		r.now.SetTime(r.now.Now().Add(r.PropagationDelay / 2))
	}
	if bytes.Equal(r.entry(t, "ca", "tls.crt"), next) {
		t.Error("the CA of the first rotation signs, want that of the second")
	}
}

// A step that is interrupted between the Secret of the CA and the others gives these the same time to
// reach the pods.
func TestCARotationInterrupted(t *testing.T) {
	r := newRotated(t)
	interrupted := false
	r.Client.(*fake.Clientset).PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.UpdateAction).GetObject().(*corev1.Secret).Name
		return interrupted && name != r.Name+"-ca", nil, errors.New("the API server is not reachable")
	})
	r.request(t)
	for step := 0; ; step++ {
		if step > 100 {
			t.Fatal("the rotation does not end")
		}
		// Each step is interrupted, and takes place when the pods could have what it writes.
		interrupted = true
		rotating, err := r.Config.ensure(t.Context())
		if err != nil {
			r.now.SetTime(r.now.Now().Add(2 * r.PropagationDelay))
		}
		interrupted = false
		r.requireTrusted(t)
		if !rotating {
			break
		}
		r.ensure(t)
		r.requireTrusted(t)
		r.roll(t, r.Name)
		r.roll(t, r.Servers)
		r.now.SetTime(r.now.Now().Add(r.PropagationDelay / 2))
	}
	if got := r.entry(t, "server", caCert); !bytes.Equal(got, r.entry(t, "ca", "tls.crt")) {
		t.Errorf("the bundle is %s", got)
	}
}
