package website

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// RollBack sets spec.pin to commit or, if that is empty, to the newest commit of the
// history that is not served now. manager becomes the manager of the field.
func RollBack(w *website.Website, commit, manager string, now time.Time) error {
	if ptr.Deref(w.Spec.Suspend, false) {
		return apierrors.NewConflict(website.Resource("websites"), w.Name, fmt.Errorf("the Website is suspended, and stays on its commit: set spec.suspend to false"))
	}
	if commit == "" && isPublishing(w) {
		return nil // The request is repeated.
	}
	if commit == "" {
		commit = releaseBefore(&w.Status)
	}
	if commit == "" {
		return apierrors.NewConflict(website.Resource("websites"), w.Name,
			fmt.Errorf("status.history contains no other release to roll back to: request a commit"))
	}
	if w.Spec.PinnedCommit() == commit {
		return nil
	}
	w.Spec.Pin = &website.WebsitePin{Commit: commit}
	entries, err := withManager(w.ManagedFields, pinFields, manager, now)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("recording the manager of spec.pin: %w", err))
	}
	w.ManagedFields = entries
	return nil
}

// isPublishing reports whether some pods serve the commit of a rollback, and others that which it replaces.
func isPublishing(w *website.Website) bool {
	return w.Status.Commit == "" && w.Status.ReadyReplicas > 0 && slices.ContainsFunc(w.Status.History, func(release website.WebsiteRelease) bool { return release.Commit == w.Spec.PinnedCommit() })
}

// releaseBefore returns the newest commit of the history that is not served, or was not served last if no pod is
// ready; empty without one.
func releaseBefore(status *website.WebsiteStatus) string {
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
	return &website.WebsiteRollback{ObjectMeta: identityOf(w), Commit: w.Spec.PinnedCommit(), ReplacedCommit: replaced}
}

var pinFields = fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "pin"), fieldpath.MakePathOrDie("spec", "pin", "commit"))

// rollbackSubresource is the subresource in entries of managed fields.
const rollbackSubresource = "rollback"

// withManager returns entries in which manager owns fields by an update of the
// rollback subresource, and no one else does: what an update changes, it takes over. The
// library's field manager is part of the handlers of updates, and not of those that
// connect.
func withManager(entries []metav1.ManagedFieldsEntry, owned *fieldpath.Set, manager string, now time.Time) ([]metav1.ManagedFieldsEntry, error) {
	taken := owned
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.FieldsV1 == nil {
			kept = append(kept, entry)
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil, err
		}
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == rollbackSubresource {
			owned = owned.Union(set)
			continue
		}
		if !set.Intersection(taken).Empty() {
			if set = set.Difference(taken); set.Empty() {
				continue
			}
			fields, err := set.ToJSON()
			if err != nil {
				return nil, err
			}
			entry.FieldsV1 = metav1.NewFieldsV1(string(fields))
		}
		kept = append(kept, entry)
	}
	fields, err := owned.ToJSON()
	if err != nil {
		return nil, err
	}
	return append(kept, metav1.ManagedFieldsEntry{
		Manager:     manager,
		Operation:   metav1.ManagedFieldsOperationUpdate,
		APIVersion:  v1beta1.SchemeGroupVersion.String(),
		Time:        &metav1.Time{Time: now.Truncate(time.Second)},
		FieldsType:  "FieldsV1",
		FieldsV1:    metav1.NewFieldsV1(string(fields)),
		Subresource: rollbackSubresource,
	}), nil
}

// FieldManager returns the manager that a request names, or else, as for all updates, the
// name of the client in its User-Agent header.
func FieldManager(manager, userAgent string) string {
	if manager != "" {
		return manager
	}
	name, _, _ := strings.Cut(userAgent, "/")
	name = strings.Map(func(character rune) rune {
		if !unicode.IsPrint(character) {
			return -1
		}
		return character
	}, name)
	if len(name) > metav1validation.FieldManagerMaxLength {
		// Not within a character.
		name = strings.ToValidUTF8(name[:metav1validation.FieldManagerMaxLength], "")
	}
	if name == "" {
		return "unknown"
	}
	return name
}
