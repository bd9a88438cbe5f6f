package v1alpha1

import (
	"bytes"
	"hash/maphash"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Upstream stores the managed fields of each manager in the version that the
// manager used, and server-side apply converts the object to that version to find
// the fields that an applier no longer sets. This fails for v1alpha1, where all
// fields that it lacks are one value of an annotation: a field of v1beta1 could
// never be removed once a manager has used v1alpha1. Managed fields are therefore
// stored in v1beta1. Conversion translates them for clients of v1alpha1, and the
// strategies translate what these send back. The field manager runs between the two: it
// converts the object once for each manager with entries in another version than the
// request's, which takes longer than the rest of a patch.

var (
	alphaVersion = SchemeGroupVersion.String()
	betaVersion  = v1beta1.SchemeGroupVersion.String()
)

// The versions differ in the path of one field, and v1alpha1 has an annotation
// of its own.
var (
	alphaRepository = fieldpath.MakePathOrDie("spec", "gitRepo")
	betaRepository  = fieldpath.MakePathOrDie("spec", "source", "git", "repository")
	annotation      = fieldpath.MakePathOrDie("metadata", "annotations", website.AnnotationCarriedFields)
)

// IsRepository reports whether a field of v1beta1 is spec.gitRepo here.
func IsRepository(path fieldpath.Path) bool { return path.Equals(betaRepository) }

// ManagedFieldsInV1beta1 returns entries with v1alpha1's translated to v1beta1.
// Entries of one manager that get the same version are merged. The given slice is
// not changed.
func ManagedFieldsInV1beta1(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	isAlpha := func(entry metav1.ManagedFieldsEntry) bool { return entry.APIVersion == alphaVersion }
	if !slices.ContainsFunc(entries, isAlpha) {
		return entries
	}
	translated := newManagers(nil)
	for _, entry := range entries {
		if !isAlpha(entry) {
			translated.add(entry, nil)
			continue
		}
		set, ok := fieldsOf(&entry)
		if !ok {
			// Server-side apply reports unreadable entries.
			translated.entries = append(translated.entries, entry)
			continue
		}
		set = renamed(set, alphaRepository, betaRepository).Difference(fieldpath.NewSet(annotation))
		if set.Empty() {
			continue
		}
		entry.APIVersion = betaVersion
		translated.add(entry, set)
	}
	return translated.merged()
}

// managedFieldsInV1alpha1 returns entries with v1beta1's translated to
// v1alpha1. Paths that it lacks are kept, so that nothing is lost when a client
// sends them back. The given slice is not changed.
func managedFieldsInV1alpha1(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	translated := slices.Clone(entries)
	for i := range translated {
		entry := &translated[i]
		if entry.APIVersion != betaVersion {
			continue
		}
		entry.APIVersion = alphaVersion
		if entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:repository"`)) {
			entry.FieldsV1 = fieldsInV1alpha1(entry.FieldsV1)
		}
	}
	return translated
}

const (
	// fieldSets is the number of cached translated sets. Managers that create many
	// objects set the same fields in all of them.
	fieldSets = 256
	// maxFieldSet is the size of the largest cached set, in bytes.
	maxFieldSet = 8 << 10
)

// inV1alpha1 caches translated sets, by the hash of the originals. Decoding them takes longer than all other steps
// of converting a list.
var inV1alpha1 = lru.New(fieldSets)

// hashSeed makes hashes unpredictable: a client must not be able to cause collisions.
var hashSeed = maphash.MakeSeed()

// translatedSet is a set of fields in both versions, which nothing changes in place.
// +k8s:openapi-gen=false
type translatedSet struct{ from, to *metav1.FieldsV1 }

// fieldsInV1alpha1 returns a set of fields of v1beta1 with the paths of v1alpha1. An
// unreadable one is returned unchanged. Objects share the result, as they share sets that are read from the store.
func fieldsInV1alpha1(fields *metav1.FieldsV1) *metav1.FieldsV1 {
	raw := fields.GetRawBytes()
	hash := maphash.Bytes(hashSeed, raw)
	if cached, found := inV1alpha1.Get(hash); found && cached.(translatedSet).from.Equal(*fields) {
		return cached.(translatedSet).to
	}
	entry := metav1.ManagedFieldsEntry{FieldsV1: fields}
	if set, ok := fieldsOf(&entry); ok {
		setFields(&entry, renamed(set, betaRepository, alphaRepository))
	}
	if len(raw) <= maxFieldSet {
		inV1alpha1.Add(hash, translatedSet{from: fields.DeepCopy(), to: entry.FieldsV1})
	}
	return entry.FieldsV1
}

// renamed returns set with one field under another path.
func renamed(set *fieldpath.Set, from, to fieldpath.Path) *fieldpath.Set {
	if !set.Has(from) {
		return set
	}
	return set.Difference(fieldpath.NewSet(from)).Union(fieldpath.NewSet(to))
}

// WithManagersOf returns entries with the fields selected by keep that the managers
// of old have. The given slices are not changed.
func WithManagersOf(entries, old []metav1.ManagedFieldsEntry,
	keep func(fieldpath.Path) bool) []metav1.ManagedFieldsEntry {
	all := newManagers(slices.Clone(entries))
	for _, entry := range old {
		set, ok := fieldsOf(&entry)
		if !ok {
			continue
		}
		kept := fieldpath.NewSet()
		set.Iterate(func(path fieldpath.Path) {
			if keep(path) {
				kept.Insert(path.Copy())
			}
		})
		if kept.Empty() {
			continue
		}
		all.add(entry, kept)
	}
	return all.merged()
}

// managers are entries, indexed by their identity: a client may send many entries of
// one manager.
// +k8s:openapi-gen=false
type managers struct {
	entries []metav1.ManagedFieldsEntry
	first   map[manager]int
	// sets are the fields of entries to encode, by their index. Each set is decoded
	// once, and all of one entry are merged and encoded at the end.
	sets map[int][]*fieldpath.Set
}

// manager is the identity of an entry.
// +k8s:openapi-gen=false
type manager struct {
	name, apiVersion, subresource string
	operation                     metav1.ManagedFieldsOperationType
}

func managerOf(entry *metav1.ManagedFieldsEntry) manager {
	return manager{entry.Manager, entry.APIVersion, entry.Subresource, entry.Operation}
}

func newManagers(entries []metav1.ManagedFieldsEntry) *managers {
	m := &managers{entries: entries, first: map[manager]int{}, sets: map[int][]*fieldpath.Set{}}
	for i := range entries {
		if _, ok := m.first[managerOf(&entries[i])]; !ok {
			m.first[managerOf(&entries[i])] = i
		}
	}
	return m
}

// add appends entry, or merges it into the entry of the same manager. fields are the fields of
// the entry, nil for its encoded ones.
func (m *managers) add(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) {
	i, found := m.first[managerOf(&entry)]
	if !found {
		m.append(entry, fields)
		return
	}
	if fields == nil {
		var ok bool
		if fields, ok = fieldsOf(&entry); !ok {
			m.entries = append(m.entries, entry)
			return
		}
	}
	if len(m.sets[i]) == 0 {
		set, ok := fieldsOf(&m.entries[i])
		if !ok {
			// Later entries are merged into this one.
			m.append(entry, fields)
			return
		}
		m.sets[i] = []*fieldpath.Set{set}
	}
	m.sets[i] = append(m.sets[i], fields)
	if m.entries[i].Time.Before(entry.Time) {
		m.entries[i].Time = entry.Time
	}
}

// append makes entry the first one of its manager.
func (m *managers) append(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) {
	i := len(m.entries)
	m.first[managerOf(&entry)] = i
	m.entries = append(m.entries, entry)
	if fields != nil {
		m.sets[i] = []*fieldpath.Set{fields}
	}
}

// merged returns the entries with all added fields.
func (m *managers) merged() []metav1.ManagedFieldsEntry {
	for i, sets := range m.sets {
		setFields(&m.entries[i], union(sets))
	}
	return m.entries
}

// union merges sets in pairs: merging one after the other would copy the largest once for each
// of them.
func union(sets []*fieldpath.Set) *fieldpath.Set {
	if len(sets) == 1 {
		return sets[0]
	}
	half := len(sets) / 2
	return union(sets[:half]).Union(union(sets[half:]))
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

// setFields keeps the entry unchanged if the set cannot be encoded, which does
// not happen to a decoded set.
func setFields(entry *metav1.ManagedFieldsEntry, set *fieldpath.Set) {
	if data, err := set.ToJSON(); err == nil {
		entry.FieldsV1 = metav1.NewFieldsV1(string(data))
	}
}
