package encoding

// pieces are an encoded Website: pieces of its own, and between them the sets of fields in its managed fields. They
// are not changed.
type pieces [][]byte

// size returns the number of bytes.
func (p pieces) size() int {
	size := 0
	for _, piece := range p {
		size += len(piece)
	}
	return size
}

// appendTo appends all of the Website.
func (p pieces) appendTo(b []byte) []byte {
	for _, piece := range p {
		b = append(b, piece...)
	}
	return b
}
