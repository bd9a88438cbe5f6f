package cached

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxItems limits the cached part of a list. The controller makes shorter ones, but another client
// can make one with the maximum size of an object, which takes many times its size in memory.
const maxItems = 16

// FirstOf returns the first items of a list. These are all items of a list that the controller has
// made. The others do not stay in memory.
func FirstOf[T any](list []T) []T { return firstOf(list, maxItems) }

func firstOf[T any](list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	return slices.Clone(list[:most])
}

// trimSelector drops a selector with more labels than this or the original controller has ever
// selected by.
func trimSelector(selector map[string]string) Labels {
	if len(selector) > maxItems {
		return ""
	}
	return LabelsOf(selector)
}

// trimLabelSelector is trimSelector for a label selector. No controller of Websites has selected by
// expressions, and without them a selector would match more.
func trimLabelSelector(selector *metav1.LabelSelector) Labels {
	if selector == nil || len(selector.MatchExpressions) > 0 {
		return ""
	}
	return trimSelector(selector.MatchLabels)
}
