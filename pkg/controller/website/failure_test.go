package website

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

var (
	deploymentResource = schema.GroupResource{Group: "apps", Resource: "deployments"}
	errBroken          = apierrors.NewInternalError(errors.New("etcd is unavailable"))
)

// fail makes requests of a kind fail until the returned function is called.
func fail(fake *clienttesting.Fake, verb, resource string, err error) (stop func()) {
	var stopped atomic.Bool
	fake.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return !stopped.Load(), nil, err
	})
	return func() { stopped.Store(true) }
}

func terminating() error {
	err := apierrors.NewForbidden(deploymentResource, testDeployment, errors.New("the namespace is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	return err
}

func TestErrors(t *testing.T) {
	quota := apierrors.NewForbidden(deploymentResource, testDeployment, errors.New("exceeded quota: used 10, limited 10"))
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, testDeployment,
		field.ErrorList{field.Invalid(field.NewPath("spec"), "x", "bad")})

	denied := apierrors.NewForbidden(deploymentResource, testDeployment,
		errors.New(`violates PodSecurity "restricted:latest"`))
	policy := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, testDeployment, nil)
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"},
	}
	webhook := func(code int32) error {
		// The API server returns this for a webhook that rejects a request without a reason of its
		// own.
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code,
			Message: `admission webhook "policy.example.com" denied the request: no`}}
	}
	noNodePorts := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, testDeployment+"-npsvc",
		field.ErrorList{field.Invalid(field.NewPath("spec", "ports").Index(0).Child("nodePort"), 30080,
			"cannot allocate resources of type servicenodeportallocations at this time")})
	nodePortTaken := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, testDeployment+"-npsvc",
		field.ErrorList{field.Invalid(field.NewPath("spec", "ports").Index(0).Child("nodePort"), 30080,
			"provided port is already allocated")})

	for name, test := range map[string]struct {
		verb, resource string
		err            error
		wantResult     problem.Result
		// wantRetry is true when the key is queued with the backoff.
		wantRetry bool
		wantEvent string
	}{
		"conflict on create is silent": {"patch", "deployments", apierrors.NewConflict(deploymentResource,
			testDeployment, errors.New("another client was first")), problem.Conflict, true, ""},
		"server error is retried":         {"patch", "deployments", errBroken, problem.Failure, true, ""},
		"server error on read is retried": {"get", "deployments", errBroken, problem.Failure, true, ""},
		"timeout is retried": {"patch", "services", apierrors.NewTimeoutError("slow", 1),
			problem.Failure, true, ""},
		"no connection is retried": {"patch", "configmaps", errors.New("connection refused"),
			problem.Failure, true, ""},
		"quota is reported and retried": {"patch", "deployments", quota, problem.Failure, true,
			`Warning QuotaExceeded creating Deployment "kubia-website"`},
		"pod security is reported": {"patch", "deployments", denied, problem.Failure, true,
			`Warning AdmissionDenied creating Deployment "kubia-website"`},
		"a policy is reported and retried": {"patch", "deployments", policy, problem.Failure, true,
			`Warning AdmissionDenied creating Deployment "kubia-website"`},
		"a webhook is reported and retried": {"patch", "deployments", webhook(400), problem.Failure, true,
			`Warning AdmissionDenied creating Deployment "kubia-website"`},
		"the same with a code of its own": {"patch", "deployments", webhook(409), problem.Failure, true,
			`Warning AdmissionDenied creating Deployment "kubia-website"`},
		"no allocator of node ports is retried": {"patch", "services", noNodePorts, problem.Failure, true, ""},
		"invalid child is reported, not retried": {"patch", "deployments", invalid, problem.Failure, false,
			`Warning SpecInvalid creating Deployment "kubia-website"`},
		"taken node port is reported and waited for": {"patch", "services", nodePortTaken, problem.Taken, false,
			`Warning NodePortTaken creating Service "kubia-website-npsvc"`},
		"terminating namespace is left alone": {"patch", "deployments", terminating(), problem.Success, false, ""},
		"invalid read is retried": {"get", "deployments", apierrors.NewBadRequest("of a proxy"),
			problem.Failure, true, ""},
		"forbidden read is reported and retried": {
			"get", "deployments", apierrors.NewForbidden(
				deploymentResource, "x", errors.New(`User "us" cannot get resource "deployments"`),
			), problem.Failure, true, "Warning AccessDenied reading Deployment",
		},
		"UID of another object is a conflict": {"patch", "deployments", uidMismatch(), problem.Conflict, true, ""},
		"missing object with UID a conflict": {
			"patch", "services", apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "x",
				errors.New("uid mismatch")), problem.Conflict, true, "",
		},
		"unavailable API server is retried": {"patch", "deployments", apierrors.NewServiceUnavailable("later"),
			problem.Failure, true, ""},
		"too many requests is retried": {"patch", "deployments", apierrors.NewTooManyRequests("later", 1),
			problem.Failure, true, ""},
		"unauthorized is retried, not reported": {"patch", "deployments", apierrors.NewUnauthorized("who are you"),
			problem.Failure, true, ""},
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

func TestRejectionIsReportedAgainAfterASuccess(t *testing.T) {
	f := newFixture(t, newWebsite())
	quota := apierrors.NewForbidden(deploymentResource, testDeployment, errors.New("exceeded quota"))
	for range 2 {
		stop := fail(&f.kube.Fake, "patch", "deployments", quota)
		f.reconcile(testKey)
		// An interrupted reconciliation says nothing about the problem.
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
