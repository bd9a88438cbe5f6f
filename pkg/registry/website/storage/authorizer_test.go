package storage

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"

	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// TestAttributesOfAuthorization: the attributes contain the requesting user with all groups.
func TestAttributesOfAuthorization(t *testing.T) {
	p := &policy{allowed: []string{"rich/key"}}
	storage := newStorageWithPolicy(t, p, generic.UndecoratedStorage)
	requester := &user.DefaultInfo{Name: rich, UID: "1", Groups: []string{"g"},
		Extra: map[string][]string{"scopes": {"x"}}}
	ctx := genericapirequest.WithUser(requestContext("v1beta1", ""), requester)
	if _, err := storage.Website.Create(ctx, newWebsite(withSecret("key")), nil, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := authorizer.AttributesRecord{User: requester, Verb: "get", Namespace: "default", APIVersion: "v1",
		Resource: "secrets", Name: "key", ResourceRequest: true}
	if len(p.checked) != 1 || fmt.Sprintf("%+v", p.checked[0]) != fmt.Sprintf("%+v", want) {
		t.Errorf("checked %+v, want %+v", p.checked, want)
	}
}

// TestReferenceWithoutAnAnswer: without a decision of the authorizer, the write
// fails, and not with a client error.
func TestReferenceWithoutAnAnswer(t *testing.T) {
	p := &policy{err: errors.New("connection refused")}
	storage := newStorageWithPolicy(t, p, generic.UndecoratedStorage)
	_, err := storage.Website.Create(as(requestContext("v1beta1", ""), rich), newWebsite(withSecret("key")), nil,
		&metav1.CreateOptions{})
	if seconds, retry := apierrors.SuggestsClientDelay(err); !apierrors.IsServiceUnavailable(err) ||
		!retry || seconds < 1 {
		t.Errorf("with an authorizer that fails: %v, want 503 with a delay", err)
	}
	_, err = storage.Website.Create(requestContext("v1beta1", ""), newWebsite(withSecret("key")), nil,
		&metav1.CreateOptions{})
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) ||
		status.Status().Code != http.StatusInternalServerError {
		t.Errorf("without a user: %v, want an internal error", err)
	}
	if _, err := NewStorage(nil, nil, nil, registry.FieldRules{}); err == nil {
		t.Error("there is a storage without an authorizer")
	}
}
