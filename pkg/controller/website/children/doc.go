// Package children is the only code of the controller that writes a child of a Website. It
// keeps these rules:
//
//   - A child is written only when what is wanted differs from what was applied
//     before, and only when its controller reference carries the UID of the
//     Website at hand, or it is an orphan of ours. An object that belongs to
//     something else is never touched.
//   - A write names the very object that it is meant for: a creation succeeds only
//     while there is none of that name, an update only while its UID is the same.
//     The API server refuses the others as conflicts.
//   - A child is not written from an older generation of its Website than it shows.
//   - What was written or read from the API server is not forgotten for an older
//     state in the informers' caches.
package children
