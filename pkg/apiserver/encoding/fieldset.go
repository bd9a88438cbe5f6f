package encoding

// isEncoded reports whether raw is a set of fields as encoding/json would write it: objects in objects, without
// white space, and with no character in a key that is escaped differently. Of others it says that they are not, even
// if they are.
func isEncoded(raw []byte) bool {
	depth, previous := 0, byte(':')
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '{' && previous == ':':
			depth++
		case c == '}' && (previous == '{' || previous == '}'):
			if depth--; depth == 0 {
				return i == len(raw)-1
			}
		case c == ',' && previous == '}':
		case c == '"' && (previous == '{' || previous == ','):
			if i = endOfKey(raw, i+1); i < 0 {
				return false
			}
		default:
			return false
		}
		previous = raw[i]
	}
	return false
}

// endOfKey returns where the colon after a key is that begins at i, or -1.
func endOfKey(raw []byte, i int) int {
	for ; i+1 < len(raw); i++ {
		switch c := raw[i]; {
		case isPlain[c]:
		case c == '"' && raw[i+1] == ':':
			return i + 1
		case c == '\\' && (raw[i+1] == '"' || raw[i+1] == '\\'):
			i++
		default:
			return -1
		}
	}
	return -1
}

// isPlain tells which bytes stand for themselves in a string. Encoders escape <, > and &, and some characters beyond
// ASCII.
var isPlain = func() (plain [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		plain[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return plain
}()
