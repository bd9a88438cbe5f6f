package cached

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Labels are labels as labels.Set encodes them. A map takes four times their memory.
type Labels string

// LabelsOf returns encoded labels.
func LabelsOf(set map[string]string) Labels { return Labels(labels.Set(set).String()) }

// Set returns the labels as a new map.
func (l Labels) Set() labels.Set {
	set := labels.Set{}
	for label := range strings.SplitSeq(string(l), ",") {
		if key, value, ok := strings.Cut(label, "="); ok {
			set[key] = value
		}
	}
	return set
}
