package connects

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// withStrictRollback rejects unknown fields in the body of a rollback, unless the request has the
// query parameter fieldValidation. The default of the library is a warning, and a misspelt commit
// would roll back to another one.
func withStrictRollback(handler http.Handler) http.Handler {
	const fieldValidation = "fieldValidation"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, ok := request.RequestInfoFrom(r.Context()); ok && isSubresource(info, "rollback") {
			if query := r.URL.Query(); !query.Has(fieldValidation) {
				query.Set(fieldValidation, metav1.FieldValidationStrict)
				r = r.Clone(r.Context())
				r.URL.RawQuery = query.Encode()
			}
		}
		handler.ServeHTTP(w, r)
	})
}
