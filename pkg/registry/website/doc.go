// Package website holds the rules by which Websites are created, updated and
// shown; package storage puts them into a store.
package website
