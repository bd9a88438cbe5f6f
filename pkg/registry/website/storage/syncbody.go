package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

const (
	// maxBodyBytes is the maximum size of a body with a commit.
	maxBodyBytes = 64 << 10
	// maxIgnoredBytes is the maximum size of any body, that of webhooks of GitHub and GitLab. A client that cannot
	// send all of a body may miss the response.
	maxIgnoredBytes = 25 << 20
)

// readBody returns the body of a request of any content type, or nil if it is too large for a commit.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBodyBytes+1))
	switch {
	case err != nil:
		return nil, apierrors.NewBadRequest("reading the body: " + err.Error())
	case len(body) > maxBodyBytes:
		_, err := io.CopyN(io.Discard, req.Body, maxIgnoredBytes-maxBodyBytes)
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, apierrors.NewBadRequest("reading the body: " + err.Error())
		}
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxIgnoredBytes))
	}
	return body, nil
}

// syncCommit returns the commit in a body, or "". Git hosts send bodies of their own: anything
// but a WebsiteSyncRequest in protobuf or a JSON object with a string commit is ignored, also a
// body that is too large.
func (r *SyncREST) syncCommit(name string, body []byte) (string, error) {
	commit := commitInJSON(body)
	if recognized, _, err := r.protobuf.RecognizesData(body); err == nil && recognized {
		request := &v1beta1.WebsiteSyncRequest{}
		if _, _, err := r.protobuf.Decode(body, nil, request); err != nil {
			return "", apierrors.NewBadRequest("reading the body: " + err.Error())
		}
		commit = request.Commit
	}
	if commit == nil {
		return "", nil
	}
	if errs := validation.ValidateCommit(*commit, field.NewPath("commit")); len(errs) > 0 {
		return "", apierrors.NewInvalid(website.Kind("WebsiteSyncRequest"), name, errs)
	}
	return *commit, nil
}

// commitInJSON returns the string commit of a JSON object, or nil.
func commitInJSON(body []byte) *string {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	var commit string
	if raw := members["commit"]; !bytes.HasPrefix(raw, []byte{'"'}) || json.Unmarshal(raw, &commit) != nil {
		return nil
	}
	return &commit
}

// validateDryRun checks the query parameter dryRun.
func validateDryRun(name string, values []string) error {
	if errs := metav1validation.ValidateDryRun(field.NewPath("dryRun"), values); len(errs) > 0 {
		return apierrors.NewInvalid(website.Kind("WebsiteSyncOptions"), name, errs)
	}
	return nil
}
