package website

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// reasonNoRelease is the reason for rejecting a rollback without another release.
	reasonNoRelease = "NoOtherRelease"
	// rollbackSubresource is the subresource in entries of managed fields.
	rollbackSubresource = "rollback"
	// rollbackManager is the manager of spec.pin unless the request names another.
	rollbackManager = "website-apiserver"
)

// RollBack sets spec.pin to commit or, if that is empty, to the newest commit of the
// history that is not currently served.
func RollBack(w *website.Website, commit string) error {
	if commit == "" && !isPinnedBySuspend(&w.Spec) && isPublishing(w) {
		return nil // The request is repeated.
	}
	if commit == "" {
		commit = releaseBefore(&w.Status)
	}
	if commit == "" {
		return unprocessable(w, reasonNoRelease, "status.history",
			"status.history contains no other release to roll back to: request a commit")
	}
	if w.Spec.PinnedCommit() != commit || isPinnedBySuspend(&w.Spec) {
		w.Spec.Pin = &v1beta1.WebsitePin{Commit: commit}
	}
	return nil
}

// isPublishing reports whether some pods serve the commit of a rollback, and others the
// replaced one.
func isPublishing(w *website.Website) bool {
	return w.Status.Commit == "" && w.Status.ReadyReplicas > 0 && slices.ContainsFunc(w.Status.History,
		func(release v1beta1.WebsiteRelease) bool { return release.Commit == w.Spec.PinnedCommit() })
}

// releaseBefore returns the newest commit of the history that is not served, or was not served last if no pod is
// ready; empty without one.
func releaseBefore(status *v1beta1.WebsiteStatus) string {
	served := status.Commit
	if served == "" && status.ReadyReplicas == 0 && len(status.History) > 0 {
		served = status.History[0].Commit
	}
	for _, release := range status.History {
		if release.Commit != served {
			return release.Commit
		}
	}
	return ""
}

// NewRollback returns the response to a request that pinned w.
func NewRollback(w *website.Website, replaced string) *website.WebsiteRollback {
	pin := w.Spec.PinnedCommit()
	return &website.WebsiteRollback{ObjectMeta: identityOf(w), Commit: &pin, ReplacedCommit: replaced}
}

// PinManager records the manager of spec.pin. The library records the managers of the fields
// of the body only.
type PinManager struct {
	fields *managedfields.FieldManager
}

// NewPinManager returns a PinManager for the Websites of scheme.
func NewPinManager(scheme *runtime.Scheme) (PinManager, error) {
	fields, err := managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(),
		runtime.UnsafeObjectConvertor(scheme), scheme, scheme,
		v1beta1.SchemeGroupVersion.WithKind("Website"), website.SchemeGroupVersion, rollbackSubresource, nil)
	return PinManager{fields: fields}, err
}

// Record returns updated with manager as the manager of the fields that differ from
// old. It is website-apiserver if manager is empty.
func (m PinManager) Record(old, updated *website.Website, manager string) runtime.Object {
	if manager == "" {
		manager = rollbackManager
	}
	return m.fields.UpdateNoErrors(old, updated, manager)
}
