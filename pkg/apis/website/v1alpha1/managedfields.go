package v1alpha1

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Upstream keeps the managed fields of each manager in the version that the
// manager has used, and server-side apply converts the object to that version to
// find out what an applier has given up. Here that fails: in v1alpha1 all that it
// cannot express is the one value of an annotation, so a field of v1beta1 would
// never go away again once a manager has used v1alpha1. Managed fields are
// therefore kept in v1beta1, whichever version a manager has used, and converted
// with the object. They are converted here and not in the registry, because only
// conversion sees an object on its way to a client and from the store.

var (
	alphaVersion = SchemeGroupVersion.String()
	betaVersion  = v1beta1.SchemeGroupVersion.String()
)

// The versions differ in the path of one field, and v1alpha1 has an annotation
// of its own.
var (
	alphaRepository = fieldpath.MakePathOrDie("spec", "gitRepo")
	betaRepository  = fieldpath.MakePathOrDie("spec", "source", "repository")
	annotation      = fieldpath.MakePathOrDie("metadata", "annotations", website.AnnotationV1beta1Fields)
)

// ManagedFieldsInV1beta1 returns entries with those of v1alpha1 translated to
// v1beta1. Entries of one manager that come to be of the same version are merged.
// The slice given is not changed.
func ManagedFieldsInV1beta1(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	isAlpha := func(entry metav1.ManagedFieldsEntry) bool { return entry.APIVersion == alphaVersion }
	if !slices.ContainsFunc(entries, isAlpha) {
		return entries
	}
	var translated []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if isAlpha(entry) {
			set, ok := fieldsOf(&entry)
			if !ok {
				// What cannot be read is for server-side apply to complain about.
				translated = append(translated, entry)
				continue
			}
			set = renamed(set, alphaRepository, betaRepository).Difference(fieldpath.NewSet(annotation))
			if set.Empty() {
				continue
			}
			entry.APIVersion = betaVersion
			setFields(&entry, set)
		}
		translated = merged(translated, entry)
	}
	return translated
}

// managedFieldsInV1alpha1 returns entries with those of v1beta1 translated to
// v1alpha1. Paths that it lacks are left as they are, so that nothing is lost
// when a client sends them back. The slice given is not changed.
func managedFieldsInV1alpha1(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	translated := slices.Clone(entries)
	for i := range translated {
		entry := &translated[i]
		if entry.APIVersion != betaVersion {
			continue
		}
		entry.APIVersion = alphaVersion
		if entry.FieldsV1 == nil || !strings.Contains(entry.FieldsV1.GetRawString(), `"f:repository"`) {
			continue
		}
		if set, ok := fieldsOf(entry); ok {
			setFields(entry, renamed(set, betaRepository, alphaRepository))
		}
	}
	return translated
}

// renamed returns set with one field under another path.
func renamed(set *fieldpath.Set, from, to fieldpath.Path) *fieldpath.Set {
	if !set.Has(from) {
		return set
	}
	return set.Difference(fieldpath.NewSet(from)).Union(fieldpath.NewSet(to))
}

// merged appends entry, or adds its fields to those of the same manager.
func merged(entries []metav1.ManagedFieldsEntry, entry metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	i := slices.IndexFunc(entries, func(known metav1.ManagedFieldsEntry) bool {
		return known.Manager == entry.Manager && known.Operation == entry.Operation && known.APIVersion == entry.APIVersion && known.Subresource == entry.Subresource
	})
	if i < 0 {
		return append(entries, entry)
	}
	known, knownOK := fieldsOf(&entries[i])
	added, addedOK := fieldsOf(&entry)
	if !knownOK || !addedOK {
		return append(entries, entry)
	}
	setFields(&entries[i], known.Union(added))
	if entries[i].Time.Before(entry.Time) {
		entries[i].Time = entry.Time
	}
	return entries
}

func fieldsOf(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, bool) {
	if entry.FieldsV1 == nil {
		return nil, false
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, false
	}
	return set, true
}

// setFields leaves the entry as it is when the set cannot be encoded, which no
// set is that has been decoded.
func setFields(entry *metav1.ManagedFieldsEntry, set *fieldpath.Set) {
	if data, err := set.ToJSON(); err == nil {
		entry.FieldsV1 = metav1.NewFieldsV1(string(data))
	}
}
