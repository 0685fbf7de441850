package guard

// maxID is the longest id that may become part of a key or a file name.
const maxID = 128

// SafeID reports whether id may be used as a file name or key component: 1 to
// 128 characters of A-Z a-z 0-9 . _ - and neither "." nor "..".
func SafeID(id string) bool {
	if id == "" || len(id) > maxID || id == "." || id == ".." {
		return false
	}
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
