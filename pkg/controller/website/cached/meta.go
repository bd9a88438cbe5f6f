package cached

import (
	"strconv"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// FieldManager is the field manager of the controller.
const FieldManager = "website-controller"

// The annotations of children.
const (
	// GenerationAnnotation is the generation of the Website from which a child was last written. It
	// keeps a controller whose cache lags from restoring an older child.
	GenerationAnnotation = v1beta1.GroupName + "/website-generation"
	// LimitedRolloutAnnotation marks a Deployment whose pod template the controller has changed for
	// another reason than a change of the Website. Such rollouts are limited in number.
	LimitedRolloutAnnotation = v1beta1.GroupName + "/limited-rollout"
)

// maxNote is longer than the annotations of controllers, which are numbers or words.
const maxNote = 32

// Object is an object as the API server returns it, a pointer.
type Object interface {
	comparable
	metav1.Object
	runtime.Object
}

// Kept is an object as a cache holds it, a pointer: the cached form of a child, or a Website.
type Kept interface {
	comparable
	runtime.Object
	metav1.ObjectMetaAccessor
	GetNamespace() string
	GetName() string
}

// Child is a child as a cache holds it.
type Child interface {
	Kept
	// Written returns the traces of the writes of the controller.
	Written() Notes
}

// Notes are the traces that writes of the controller leave on a child.
type Notes struct {
	// Applied is the digest of the fields that the controller has applied, zero if it has applied none.
	Applied Digest
	// Unreadable is the reason why the managed fields, and so Applied, cannot be read. It is nil if
	// they can.
	Unreadable error
	// WebsiteGeneration is the generation of the Website from which the child was last written, or 0
	// if unknown.
	WebsiteGeneration int64
}

// WasApplied reports whether the controller has applied the child before.
func (n Notes) WasApplied() bool { return n.Applied != Digest{} || n.Unreadable != nil }

// NotesOf returns the notes of a child that has its managed fields.
func NotesOf[S Object, A ApplyConfiguration[A]](child S, fields Fields[S, A]) Notes {
	var notes Notes
	if WasApplied(child) {
		notes.Applied, notes.Unreadable = extractDigest(child, fields.Extract, fields.Digest)
	}
	if generation, err := strconv.ParseInt(child.GetAnnotations()[GenerationAnnotation], 10, 64); err == nil {
		notes.WebsiteGeneration = generation
	}
	return notes
}

// Meta is the common part of the cached forms of all children: their identity, their owner and the
// notes. Only orphans have labels, by which they are recognized.
type Meta struct {
	Identity
	Generation        int64
	DeletionTimestamp *metav1.Time
	Labels            map[string]string
	OwnerReferences   []metav1.OwnerReference
	Notes
	kind *metav1.TypeMeta
}

// GetObjectMeta returns the metadata as client-go and apimachinery read it.
func (m *Meta) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		DeletionTimestamp: m.DeletionTimestamp, Labels: m.Labels, OwnerReferences: m.OwnerReferences,
	}
}

// Written returns the notes.
func (m *Meta) Written() Notes { return m.Notes }

// GetObjectKind returns the kind of the child, for events about it.
func (m *Meta) GetObjectKind() schema.ObjectKind { return m.kind }

// metaOf returns the Meta of a child.
func metaOf[S Object, A ApplyConfiguration[A]](child S, fields Fields[S, A]) Meta {
	var labels map[string]string
	if _, _, owned := OwnerOf(child); !owned {
		labels = pickLabels(child.GetLabels(), resources.LabelManagedBy, resources.LabelController)
	}
	return Meta{
		Identity: identityOf(child), Generation: child.GetGeneration(), DeletionTimestamp: child.GetDeletionTimestamp(),
		Labels: labels, OwnerReferences: TrimOwners(child.GetOwnerReferences()),
		Notes: NotesOf(child, fields), kind: fields.kind,
	}
}

// pickLabels returns the labels with some keys.
func pickLabels(labels map[string]string, keys ...string) map[string]string {
	picked := make(map[string]string, len(keys))
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			picked[key] = value
		}
	}
	return picked
}

// note returns an annotation of a controller, or "" if it is too long for one.
func note(object metav1.Object, key string) string {
	value := object.GetAnnotations()[key]
	if len(value) > maxNote {
		return ""
	}
	return interned(value)
}

// Intern makes equal strings of several objects share their memory.
func Intern[S ~string](s *S) { *s = interned(*s) }

func interned[S ~string](s S) S { return unique.Make(s).Value() }
