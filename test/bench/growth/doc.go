// Package growth measures how website-apiserver changes with the number of Websites: rates,
// lists, watches, memory, the size of the store, and a restart.
package growth
