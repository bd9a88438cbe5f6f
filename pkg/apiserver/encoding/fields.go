package encoding

// The kinds of bytes in a set of fields.
const (
	// plain bytes stand for themselves in a string.
	plain = iota + 1
	// special bytes end a string, escape, or are not plain in the encoder's output.
	special
)

// characters has the kind of each byte in a string. Encoders escape <, > and &, and some characters
// beyond ASCII.
var characters = func() (kinds [256]byte) {
	for i := range kinds {
		kinds[i] = special
		if i >= ' ' && i < 0x7f {
			kinds[i] = plain
		}
	}
	for _, c := range `"\<>&` {
		kinds[c] = special
	}
	return kinds
}()

// isEncoded reports whether raw is a set of fields as encoding/json would write it: objects
// in objects, without white space, and with no character in a key that is escaped differently.
// Of others it says that they are not, even if they are.
func isEncoded(raw []byte) bool {
	depth, i := 0, 0
	for i < len(raw) {
		// A value, which is an object.
		if raw[i] != '{' {
			return false
		}
		depth++
		i++
		if i < len(raw) && raw[i] == '}' {
			for i < len(raw) && raw[i] == '}' && depth > 0 {
				depth--
				i++
			}
			if depth == 0 {
				return i == len(raw)
			}
			if i == len(raw) || raw[i] != ',' {
				return false
			}
			i++
		}
		// A key.
		if i == len(raw) || raw[i] != '"' {
			return false
		}
		i++
		for i < len(raw) && raw[i] != '"' {
			switch {
			case characters[raw[i]] == plain:
				i++
			case raw[i] == '\\' && i+1 < len(raw) && (raw[i+1] == '"' || raw[i+1] == '\\'):
				i += 2
			default:
				return false
			}
		}
		if i+1 >= len(raw) || raw[i+1] != ':' {
			return false
		}
		i += 2
	}
	return false
}
