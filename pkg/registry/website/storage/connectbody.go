package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

const (
	// maxBodyBytes is the maximum size of a body with a commit.
	maxBodyBytes = 64 << 10
	// maxIgnoredBytes is how much is read of a larger body. A client that cannot send all
	// of it may miss the response.
	maxIgnoredBytes = 1 << 20
)

// errBodyTooLarge is the error of readBody for a larger one.
var errBodyTooLarge = apierrors.NewRequestEntityTooLargeError("the body may not be more than 64 KiB")

// readBody returns the body of a request of any content type.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBodyBytes+1))
	switch {
	case err != nil:
		return nil, apierrors.NewBadRequest("reading the body: " + err.Error())
	case len(body) > maxBodyBytes:
		if _, err := io.CopyN(io.Discard, req.Body, maxIgnoredBytes); err != nil && !errors.Is(err, io.EOF) {
			return nil, apierrors.NewBadRequest("reading the body: " + err.Error())
		}
		return nil, errBodyTooLarge
	}
	return body, nil
}

// syncCommit returns the commit that a body asks for. Git hosts send bodies of their own:
// anything but a JSON object with a string commit is ignored, also what is too large.
func syncCommit(name string, body []byte) (string, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return "", nil
	}
	var commit string
	if raw := members["commit"]; !bytes.HasPrefix(raw, []byte{'"'}) || json.Unmarshal(raw, &commit) != nil {
		return "", nil
	}
	if errs := validation.ValidateCommit(commit, field.NewPath("commit")); len(errs) > 0 {
		return "", apierrors.NewInvalid(website.Kind("WebsiteSyncRequest"), name, errs)
	}
	return commit, nil
}

// rollbackRequest is what a body asks for.
type rollbackRequest struct {
	// commit is empty for the default.
	commit string
	// preconditions are the UID and the resourceVersion that the Website must have, if they are given.
	preconditions storage.Preconditions
}

// readRollback reads a body. It rejects what it does not know, since a misspelt commit would roll
// back to another one.
func readRollback(namespace, name string, body []byte) (rollbackRequest, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return rollbackRequest{}, nil
	}
	refuse := func(message string) (rollbackRequest, error) {
		return rollbackRequest{}, apierrors.NewBadRequest(message)
	}
	var request struct {
		metav1.TypeMeta
		Metadata       metav1.ObjectMeta `json:"metadata"`
		Commit         json.RawMessage   `json:"commit"`
		ReplacedCommit string            `json:"replacedCommit"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&request)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	var commit string
	isNull := bytes.Equal(bytes.TrimSpace(body), []byte("null")) || bytes.Equal(request.Commit, []byte("null"))
	if err == nil && len(request.Commit) > 0 {
		err = json.Unmarshal(request.Commit, &commit)
	}
	wanted := v1beta1.SchemeGroupVersion.WithKind("WebsiteRollback")
	switch {
	case err != nil:
		return refuse("the body must be empty or a WebsiteRollback as JSON: " + err.Error())
	case isNull:
		return refuse("the commit must not be null: name one, or leave it out for the release before")
	case request.Kind != "" && request.Kind != wanted.Kind || request.APIVersion != "" && request.APIVersion != wanted.GroupVersion().String():
		return refuse("the body must be a WebsiteRollback of " + wanted.GroupVersion().String() + ", without kind and apiVersion or with these")
	case request.Metadata.Name != "" && request.Metadata.Name != name:
		return refuse("metadata.name in the body is not the name in the URL")
	case request.Metadata.Namespace != "" && request.Metadata.Namespace != namespace:
		return refuse("metadata.namespace in the body is not the namespace in the URL")
	}
	var wants rollbackRequest
	if uid := request.Metadata.UID; uid != "" {
		wants.preconditions.UID = &uid
	}
	if version := request.Metadata.ResourceVersion; version != "" {
		wants.preconditions.ResourceVersion = &version
	}
	if len(request.Commit) == 0 {
		return wants, nil
	}
	if errs := validation.ValidateCommit(commit, field.NewPath("commit")); len(errs) > 0 {
		return wants, apierrors.NewInvalid(website.Kind("WebsiteRollback"), name, errs)
	}
	wants.commit = commit
	return wants, nil
}

// validateDryRun checks the query parameter dryRun.
func validateDryRun(kind, name string, values []string) error {
	if errs := metav1validation.ValidateDryRun(field.NewPath("dryRun"), values); len(errs) > 0 {
		return apierrors.NewInvalid(website.Kind(kind), name, errs)
	}
	return nil
}
