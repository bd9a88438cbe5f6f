package resources

import "strings"

// unexpanded escapes a value of command, args or env, so that the kubelet passes it on unchanged. The
// kubelet replaces $(NAME) by the variable NAME of the container, which can come from a Secret, and
// two dollar signs by one.
func unexpanded(value string) string { return strings.ReplaceAll(value, "$", "$$") }
