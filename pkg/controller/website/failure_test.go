package website

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

var (
	deploymentResource = schema.GroupResource{Group: "apps", Resource: "deployments"}
	errBroken          = apierrors.NewInternalError(errors.New("etcd is away"))
)

// fail makes the next requests of a kind fail until the returned function is
// called.
func fail(fake *clienttesting.Fake, verb, resource string, err error) (stop func()) {
	var stopped atomic.Bool
	fake.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return !stopped.Load(), nil, err
	})
	return func() { stopped.Store(true) }
}

func terminating() error {
	err := apierrors.NewForbidden(deploymentResource, testDeployment, errors.New("the namespace is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	return err
}

func TestErrors(t *testing.T) {
	quota := apierrors.NewForbidden(deploymentResource, testDeployment, errors.New("exceeded quota: used 10, limited 10"))
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, testDeployment, field.ErrorList{field.Invalid(field.NewPath("spec"), "x", "bad")})

	denied := apierrors.NewForbidden(deploymentResource, testDeployment, errors.New(`violates PodSecurity "restricted:latest"`))
	policy := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, testDeployment, nil)
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"}}
	webhook := func(code int32) error {
		// What an API server makes of a webhook's refusal, without a reason of its own.
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code,
			Message: `admission webhook "policy.example.com" denied the request: no`}}
	}
	noNodePorts := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, testDeployment+"-npsvc",
		field.ErrorList{field.Invalid(field.NewPath("spec", "ports").Index(0).Child("nodePort"), 30080, "cannot allocate resources of type servicenodeportallocations at this time")})
	nodePortTaken := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, testDeployment+"-npsvc",
		field.ErrorList{field.Invalid(field.NewPath("spec", "ports").Index(0).Child("nodePort"), 30080, "provided port is already allocated")})

	for name, test := range map[string]struct {
		verb, resource string
		err            error
		wantResult     problem.Result
		// wantRetry is true when the key comes back by the backoff.
		wantRetry bool
		wantEvent string
	}{
		"conflict on create is silent":           {"patch", "deployments", apierrors.NewConflict(deploymentResource, testDeployment, errors.New("somebody was first")), problem.Conflict, true, ""},
		"server error is retried":                {"patch", "deployments", errBroken, problem.Failure, true, ""},
		"server error on read is retried":        {"get", "deployments", errBroken, problem.Failure, true, ""},
		"timeout is retried":                     {"patch", "services", apierrors.NewTimeoutError("slow", 1), problem.Failure, true, ""},
		"no connection is retried":               {"patch", "configmaps", errors.New("connection refused"), problem.Failure, true, ""},
		"quota is told and retried":              {"patch", "deployments", quota, problem.Failure, true, `Warning QuotaExceeded creating Deployment "kubia-website"`},
		"refused pod security is told":           {"patch", "deployments", denied, problem.Failure, true, `Warning AdmissionDenied creating Deployment "kubia-website"`},
		"policy's refusal is told and retried":   {"patch", "deployments", policy, problem.Failure, true, `Warning AdmissionDenied creating Deployment "kubia-website"`},
		"webhook's refusal is told and retried":  {"patch", "deployments", webhook(400), problem.Failure, true, `Warning AdmissionDenied creating Deployment "kubia-website"`},
		"the same with a code of its own":        {"patch", "deployments", webhook(409), problem.Failure, true, `Warning AdmissionDenied creating Deployment "kubia-website"`},
		"no allocator of node ports is retried":  {"patch", "services", noNodePorts, problem.Failure, true, ""},
		"invalid child is told, not retried":     {"patch", "deployments", invalid, problem.Failure, false, `Warning SpecInvalid creating Deployment "kubia-website"`},
		"taken node port is told and waited for": {"patch", "services", nodePortTaken, problem.Taken, false, `Warning NodePortTaken creating Service "kubia-website-npsvc"`},
		"terminating namespace is left to go":    {"patch", "deployments", terminating(), problem.Success, false, ""},
		"forbidden read is told and retried":     {"get", "configmaps", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errors.New(`User "us" cannot get resource "configmaps"`)), problem.Failure, true, "Warning AccessDenied reading ConfigMap"},
		"UID of another object is a conflict":    {"patch", "deployments", uidMismatch(), problem.Conflict, true, ""},
		"missing object with UID a conflict":     {"patch", "services", apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "x", errors.New("uid mismatch")), problem.Conflict, true, ""},
		"unavailable API server is retried":      {"patch", "deployments", apierrors.NewServiceUnavailable("later"), problem.Failure, true, ""},
		"too many requests is retried":           {"patch", "deployments", apierrors.NewTooManyRequests("later", 1), problem.Failure, true, ""},
		"unauthorized is retried and not told":   {"patch", "deployments", apierrors.NewUnauthorized("who are you"), problem.Failure, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newWebsite())
			stop := fail(&f.kube.Fake, test.verb, test.resource, test.err)

			for n := range 3 {
				if got := f.work(testKey); got != test.wantResult {
					t.Errorf("reconciliation %d: result %v, want %v", n, got, test.wantResult)
				}
			}
			if got := f.controller.queue.NumRequeues(testKey) > 0; got != test.wantRetry {
				t.Errorf("retried by backoff: %t, want %t", got, test.wantRetry)
			}
			events := slices.DeleteFunc(f.events(), func(event string) bool { return strings.HasPrefix(event, "Normal") })
			switch {
			case test.wantEvent == "" && len(events) > 0:
				t.Errorf("unexpected events: %q", events)
			case test.wantEvent != "" && (len(events) != 1 || !strings.HasPrefix(events[0], test.wantEvent)):
				t.Errorf("events of three reconciliations: %q, want one %q", events, test.wantEvent)
			}

			stop()
			f.syncCaches()
			if got := f.work(testKey); got != problem.Success {
				t.Errorf("afterwards the result is %q", got)
			}
			if got := f.controller.queue.NumRequeues(testKey); got != 0 {
				t.Errorf("the backoff was not reset: %d", got)
			}
			f.deployment()
			f.service()
			f.configMap()
		})
	}
}

func uidMismatch() error {
	return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, testDeployment,
		field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "a", "field is immutable")})
}

func TestRefusalIsToldAgainAfterASuccess(t *testing.T) {
	f := newFixture(t, newWebsite())
	quota := apierrors.NewForbidden(deploymentResource, testDeployment, errors.New("exceeded quota"))
	for range 2 {
		stop := fail(&f.kube.Fake, "patch", "deployments", quota)
		f.reconcile(testKey)
		// One that is cut short says nothing about the problem.
		stopReads := fail(&f.kube.Fake, "get", "deployments", errBroken)
		f.reconcile(testKey)
		stopReads()
		f.reconcile(testKey)
		if got := f.events(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning QuotaExceeded") {
			t.Fatalf("events: %q, want one QuotaExceeded", got)
		}
		stop()
		f.converge(newWebsite())
		f.remove(f.deployment())
		f.syncCaches()
	}
}

func TestNameTakenWaitsWithoutBackoff(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.store(foreignDeployment())
	for range 5 {
		if got := f.work(testKey); got != problem.Taken {
			t.Fatalf("result %v", got)
		}
	}
	if got := f.controller.queue.NumRequeues(testKey); got != 0 {
		t.Errorf("the key is in backoff (%d): the name would come free long before it is tried", got)
	}
	queue := &recordingQueue{TypedRateLimitingInterface: f.controller.queue.TypedRateLimitingInterface}
	f.controller.queue.TypedRateLimitingInterface = queue
	for range 100 {
		f.work(testKey)
		if queue.wait < periodicRetry || queue.wait > 2*periodicRetry {
			t.Fatalf("the next try is in %v", queue.wait)
		}
	}
}

func TestInvalidSpecIsNotRetried(t *testing.T) {
	f := newFixture(t, newWebsite(func(website *v1beta1.Website) { website.Spec.Source.Repository = "-x" }))
	if got := f.work(testKey); got != problem.Failure {
		t.Errorf("result %v", got)
	}
	if got := f.controller.queue.NumRequeues(testKey); got != 0 {
		t.Errorf("retried %d times", got)
	}
}

func TestStatusErrors(t *testing.T) {
	websites := schema.GroupResource{Group: v1beta1.GroupName, Resource: "websites"}
	for name, test := range map[string]struct {
		err        error
		wantResult problem.Result
		wantRetry  bool
	}{
		"conflict is retried in silence": {apierrors.NewConflict(websites, testName, errors.New("changed")), problem.Conflict, true},
		"a deleted website is ignored":   {apierrors.NewNotFound(websites, testName), problem.Success, false},
		"anything else is retried":       {errBroken, problem.Failure, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.cacheWebsite(newWebsite())
			f.converge(newWebsite())
			f.addWebsite(newWebsite(withStatus(7)))
			fail(&f.websites.Fake, "update", "websites", test.err)
			if got := f.work(testKey); got != test.wantResult {
				t.Errorf("result %v, want %v", got, test.wantResult)
			}
			if got := f.controller.queue.NumRequeues(testKey) > 0; got != test.wantRetry {
				t.Errorf("retried: %t, want %t", got, test.wantRetry)
			}
			if got := f.events(); len(got) > 0 {
				t.Errorf("events: %q", got)
			}
		})
	}
}

func TestStatusIsNotGuessed(t *testing.T) {
	// When nobody knows whether there is a Deployment, zero would be a lie.
	f := newFixture(t, newWebsite(withStatus(3)))
	fail(&f.kube.Fake, "get", "deployments", errBroken)
	f.reconcile(testKey)
	if got := f.writes(); len(got) > 0 {
		t.Errorf("writes: %q", got)
	}
}

// TestReplacedBetweenReadAndWrite lets a foreign object take the place of a
// child after the controller looked and before it writes.
func TestReplacedBetweenReadAndWrite(t *testing.T) {
	for name, test := range map[string]struct {
		replace func(f *fixture)
		wantUID string
	}{
		"deleted and created by somebody else": {
			replace: func(f *fixture) {
				f.remove(f.deployment())
				f.store(foreignDeployment())
			},
			wantUID: "foreign",
		},
		"deleted": {
			replace: func(f *fixture) { f.remove(f.deployment()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.cacheWebsite(newWebsite())
			f.converge(newWebsite())
			f.addWebsite(newWebsite(withReplicas(4)))

			var once atomic.Bool
			f.kube.PrependReactor("patch", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
				if once.CompareAndSwap(false, true) {
					test.replace(f)
				}
				return false, nil, nil
			})
			if got := f.work(testKey); got != problem.Conflict {
				t.Errorf("result %v, want a conflict", got)
			}
			if got := f.writes(); !slices.Equal(got, []string{"update Deployment kubia-website", "create PodDisruptionBudget kubia-website"}) {
				t.Errorf("writes: %q", got)
			}
			if got := f.events(); len(got) > 0 {
				t.Errorf("events: %q", got)
			}
			deployment, ok := live[*appsv1.Deployment](f, testDeployment)
			if ok != (test.wantUID != "") {
				t.Fatalf("there is a Deployment: %t", ok)
			}
			if ok && (string(deployment.GetUID()) != test.wantUID || len(deployment.GetOwnerReferences()) > 0) {
				t.Errorf("the foreign Deployment was touched: %v", deployment)
			}
		})
	}
}

// TestFailingAtEveryRequest cuts a reconciliation off at every request it makes, before
// and after the request took effect, and expects the next one to finish.
func TestFailingAtEveryRequest(t *testing.T) {
	count := func(f *fixture) int { return len(f.kube.Actions()) + len(f.websites.Actions()) }

	scenarios := map[string]func(f *fixture){
		"create": func(f *fixture) { f.addWebsite(newWebsite(withStatus(9))) },
		"update": func(f *fixture) {
			f.cacheWebsite(newWebsite())
			f.converge(newWebsite())
			f.addWebsite(newWebsite(withReplicas(2), withStatus(9)))
			service := f.service()
			service.Labels["app"] = "mine"
			f.store(service)
			f.syncCaches()
			f.forgetHistory()
		},
	}
	for name, set := range scenarios {
		probe := newFixture(t)
		set(probe)
		probe.reconcile(testKey)
		requests := count(probe)
		if requests < 4 {
			t.Fatalf("%s: only %d requests", name, requests)
		}
		for at := range requests {
			for _, effect := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/request %d/effect %t", name, at, effect), func(t *testing.T) {
					f := newFixture(t)
					set(f)
					var seen atomic.Int32
					broken := func(inner clienttesting.ReactionFunc) clienttesting.ReactionFunc {
						return func(action clienttesting.Action) (bool, runtime.Object, error) {
							if int(seen.Add(1)) != at+1 {
								return false, nil, nil
							}
							if effect {
								if _, _, err := inner(action); err != nil {
									return true, nil, err
								}
							}
							return true, nil, errBroken
						}
					}
					f.kube.PrependReactor("*", "*", broken(func(action clienttesting.Action) (bool, runtime.Object, error) {
						if action.GetVerb() == "patch" {
							return f.applyLikeAServer(action)
						}
						return true, nil, nil
					}))
					f.websites.PrependReactor("*", "*", broken(clienttesting.ObjectReaction(f.websites.Tracker())))

					if problems := f.reconcile(testKey); len(problems) == 0 {
						t.Fatal("the reconciliation did not notice")
					}
					// The next one starts from caches that saw nothing of it,
					// the one after that from fresh ones.
					f.refreshWebsites()
					if problems := f.reconcile(testKey); len(problems) > 0 {
						t.Fatalf("the next reconciliation: %v", problems)
					}
					f.refreshWebsites()
					f.syncCaches()
					f.forgetHistory()
					f.reconcile(testKey)
					if got := f.requests(); len(got) > 0 {
						t.Errorf("there was something left to do: %q", got)
					}
					f.deployment()
					f.service()
					f.configMap()
				})
			}
		}
	}
}

// TestLastingErrorsAreTold: one error is not worth a word, several in a row are.
func TestLastingErrorsAreTold(t *testing.T) {
	f := newFixture(t, newWebsite())
	stop := fail(&f.kube.Fake, "patch", "deployments", errBroken)
	told := func() bool {
		f.refreshWebsites()
		ready := meta.FindStatusCondition(f.website(testName).Status.Conditions, v1beta1.WebsiteReady)
		return ready != nil && ready.Reason == v1beta1.WebsiteReasonReconcileError
	}
	for n := range persistent + 1 {
		if told() {
			t.Fatalf("told after %d errors", n)
		}
		f.work(testKey)
	}
	if !told() {
		t.Errorf("not told after %d errors: %+v", persistent+1, f.website(testName).Status)
	}
	stop()
	f.syncCaches()
	f.work(testKey)
	if told() {
		t.Error("still told when it is over")
	}
}

// recordingQueue remembers how long the last key has to wait.
type recordingQueue struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	wait time.Duration
}

func (q *recordingQueue) AddAfter(_ cache.ObjectName, wait time.Duration) { q.wait = wait }

// TestServerHints asks to be left alone for a minute, which the first retry of
// the backoff would not do.
func TestServerHints(t *testing.T) {
	f := newFixture(t, newWebsite())
	queue := &recordingQueue{TypedRateLimitingInterface: f.controller.queue.TypedRateLimitingInterface}
	f.controller.queue.TypedRateLimitingInterface = queue
	fail(&f.kube.Fake, "patch", "deployments", apierrors.NewTooManyRequests("later", 60))
	f.work(testKey)
	if queue.wait != time.Minute {
		t.Errorf("the next try is in %v, want the minute that the server asked for", queue.wait)
	}
}
