package costlybodies

// The types of fields on the wire, https://protobuf.dev/programming-guides/encoding/. A group has no length, and
// its fields are taken as those around it.
const (
	varintType = iota
	fixed64Type
	bytesType
	startGroupType
	endGroupType
	fixed32Type
)

// nextField returns the number and the value of the first field, nil if it is no text or message, and what follows.
// It is not ok at the end, or at an error of the decoder. It reads as that does, which drops
// bits that are too many, where protowire of google.golang.org/protobuf returns an error: what comes after
// such a field would not be checked.
func nextField(message []byte) (number int32, value, rest []byte, ok bool) {
	tag, rest, ok := varint(message)
	if !ok {
		return 0, nil, nil, false
	}
	number = int32(tag >> 3)
	length := uint64(0)
	switch tag & 7 {
	case varintType:
		_, rest, ok = varint(rest)
		return number, nil, rest, ok
	case fixed64Type:
		length = 8
	case fixed32Type:
		length = 4
	case bytesType:
		if length, rest, ok = varint(rest); !ok || length > uint64(len(rest)) {
			return 0, nil, nil, false
		}
		return number, rest[:length:length], rest[length:], true
	case startGroupType, endGroupType:
	default:
		return 0, nil, nil, false
	}
	if length > uint64(len(rest)) {
		return 0, nil, nil, false
	}
	return number, nil, rest[length:], true
}

// varint returns the number that a message begins with, and what follows.
func varint(message []byte) (value uint64, rest []byte, ok bool) {
	for i := 0; i < len(message) && i < 10; i++ {
		value |= uint64(message[i]&0x7f) << (7 * i)
		if message[i] < 0x80 {
			return value, message[i+1:], true
		}
	}
	return 0, nil, false
}
