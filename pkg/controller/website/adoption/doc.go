// Package adoption makes Websites the owners of children that a backup has restored without owner references. The
// controller itself adopts an orphan only if the managed fields show that it has applied it, because any client can
// copy labels. Here a user decides instead.
package adoption
