// Package gitsync runs git-sync as a child process, and does what git-sync v4.7.1 does not:
// it restarts it when it dies, ends what a killed git has left running, which otherwise holds
// git-sync for as long as a server likes, and removes the files that a killed git has left,
// because of which git-sync removes all that it has.
package gitsync
