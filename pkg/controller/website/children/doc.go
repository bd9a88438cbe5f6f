// Package children is the only code of the controller that writes a child of a Website. It
// keeps these rules:
//
//   - A child is written only when its desired fields differ from the applied ones,
//     and only when its controller reference carries the UID of this Website, or it
//     is an orphan of ours. An object with another owner is never changed.
//   - A write names one particular object: a creation succeeds only while there is
//     none of that name, an update only while its UID is the same. The API server
//     rejects other writes as conflicts.
//   - A child is not written from an older generation of its Website than it carries.
//   - Objects that were written to or read from the API server are not replaced by an
//     older state in the informers' caches.
package children
