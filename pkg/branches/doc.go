// Package branches has the rules about branches with previews that the agent, the server and
// the controller share: which branches match, and the names of their previews.
package branches
