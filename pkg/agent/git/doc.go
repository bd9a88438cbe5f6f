// Package git runs the git of the machine: it fetches the published path of a repository and checks it out. Neither
// the remote nor the content of the repository and its submodules is trusted; docs/design/agent-git.md lists the
// threats. Each failure is an *Error with a Reason and a message that names the field to change.
package git
