package resources

import "strings"

// unexpanded returns a value of command, args or env that the kubelet passes on
// as it is. It replaces $(NAME) there by the variable NAME of the container, which
// can come from a Secret, and takes two dollar signs for one.
func unexpanded(value string) string { return strings.ReplaceAll(value, "$", "$$") }
