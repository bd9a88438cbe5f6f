package problem

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

func TestClassify(t *testing.T) {
	invalid := func(path *field.Path, detail string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "kubia",
			field.ErrorList{field.Invalid(path, "x", detail)})
	}
	nodePort := field.NewPath("spec", "ports").Index(0).Child("nodePort")
	forbidden := func(words string) error { return apierrors.NewForbidden(deployments, "kubia", errors.New(words)) }
	terminating := apierrors.NewForbidden(deployments, "kubia", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	policy := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "kubia", nil)
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"},
	}
	webhook := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
			Message: `admission webhook "policy.example.com" denied the request: no`}}
	}

	for name, test := range map[string]struct {
		err        error
		wantReason string
		wantRetry  Retry
		wantResult Result
		wantAfter  time.Duration
	}{
		"no connection":      {errors.New("connection refused"), "", WithBackoff, Failure, 0},
		"the server fails":   {apierrors.NewInternalError(errors.New("etcd")), "", WithBackoff, Failure, 0},
		"the server is busy": {apierrors.NewTooManyRequests("later", 60), "", WithBackoff, Failure, time.Minute},
		"unauthorized":       {apierrors.NewUnauthorized("who are you"), "", WithBackoff, Failure, 0},
		"conflict": {apierrors.NewConflict(deployments, "kubia", errors.New("changed")), "",
			WithBackoff, Conflict, 0},
		"conflict, another UID": {invalid(field.NewPath("metadata", "uid"), "field is immutable"), "",
			WithBackoff, Conflict, 0},
		"namespace terminating": {terminating, "", OnChange, Success, 0},
		"quota": {forbidden("exceeded quota: few"), v1beta1.WebsiteReasonQuotaExceeded,
			WithBackoff, Failure, 0},
		"pod security": {forbidden("violates PodSecurity"), v1beta1.WebsiteReasonAdmissionDenied,
			WithBackoff, Failure, 0},
		"missing permission": {forbidden(`User "us" cannot get resource`), v1beta1.WebsiteReasonAccessDenied,
			WithBackoff, Failure, 0},
		"policy": {policy, v1beta1.WebsiteReasonAdmissionDenied, WithBackoff, Failure, 0},
		"webhook": {webhook(400, metav1.StatusReasonBadRequest), v1beta1.WebsiteReasonAdmissionDenied,
			WithBackoff, Failure, 0},
		"webhook, as a conflict": {webhook(409, metav1.StatusReasonConflict), v1beta1.WebsiteReasonAdmissionDenied,
			WithBackoff, Failure, 0},
		"invalid field": {invalid(field.NewPath("spec"), "bad"), v1beta1.WebsiteReasonSpecInvalid,
			OnChange, Failure, 0},
		"bad request": {apierrors.NewBadRequest("bad"), v1beta1.WebsiteReasonSpecInvalid,
			OnChange, Failure, 0},
		"too large": {apierrors.NewRequestEntityTooLargeError("3 MiB"), v1beta1.WebsiteReasonSpecInvalid,
			OnChange, Failure, 0},
		"node port taken": {invalid(nodePort, "provided port is already allocated"),
			v1beta1.WebsiteReasonNodePortTaken, Periodically, Taken, 0},
		"node port out of range": {invalid(nodePort, "provided port is not in the valid range"),
			v1beta1.WebsiteReasonSpecInvalid, Periodically, Failure, 0},
		"no node port is free": {apierrors.NewInternalError(errors.New("failed to allocate a nodePort: range is full")),
			v1beta1.WebsiteReasonNodePortsExhausted, Periodically, Taken, 0},
		"no cluster IP is free": {
			apierrors.NewInternalError(errors.New("failed to allocate a serviceIP: range is full")), "", WithBackoff, Failure, 0,
		},
		"no allocator of node ports": {invalid(nodePort, "cannot allocate resources at this time"), "",
			WithBackoff, Failure, 0},
	} {
		t.Run(name, func(t *testing.T) {
			err := fmt.Errorf("creating it: %w", test.err)
			got := Classify(err)
			if got.Reason != test.wantReason || got.Retry != test.wantRetry || got.Result != test.wantResult ||
				got.RetryAfter != test.wantAfter {
				t.Errorf("classified as %+v, want reason %q, retry %d after %v, result %s", got, test.wantReason, test.wantRetry,
					test.wantAfter, test.wantResult)
			}
			if !strings.HasPrefix(got.Message, err.Error()) || !errors.Is(got, test.err) {
				t.Errorf("the error is lost: %+v", got)
			}
			if (got.ID == "") != (got.Reason == "") {
				t.Errorf("ID %q of reason %q", got.ID, got.Reason)
			}
		})
	}
	if got := Classify(apierrors.NewInternalError(errors.New("failed to allocate a nodePort: range is full"))).
		Message; !strings.Contains(got, "ClusterIP") {
		t.Errorf("the message of a full range of node ports names no way out: %s", got)
	}
	if got := Classify(nil); got != nil {
		t.Errorf("no error is %+v", got)
	}
}
