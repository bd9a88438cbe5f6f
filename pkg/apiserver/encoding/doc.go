// Package encoding encodes Websites in less time than the encoders of k8s.io/apiserver, to the same bytes.
//
// Three things make it faster:
//
//   - Managed fields are more than half of a Website, and each set of fields in them is JSON already. encoding/json
//     parses a set again for each response. Here encoding/json encodes the Website with empty sets, and the sets are
//     inserted after a cheaper check (json.go, fieldset.go). The object in a watch event is not parsed again either.
//   - Lists keep each Website that they encode in a cache, and the next list takes it from there (cache.go). The
//     watch cache decodes each version of a Website once, and all lists share what that allocated. So its address
//     identifies the version; UID and resourceVersion do not, as they repeat after a restore of etcd.
//   - Lists as Tables are encoded row by row, from rows that need no conversion (table.go).
//
// An encoded Website is a sequence of pieces (pieces.go): its own bytes, and in between the sets of fields, which
// all formats of a Website share, and all Websites with equal sets.
//
// k8s.io/apiserver does the rest: it encodes other objects, indented JSON and YAML, and assembles lists as protobuf
// (protobuflist.go). Lists as JSON are assembled here (jsonlist.go), because encoding/json parses encoded items
// again. Clients that ask for YAML get large Websites and all lists as JSON (yaml.go).
package encoding
