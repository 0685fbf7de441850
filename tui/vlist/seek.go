package vlist

// Seek selects the nearest loaded item after the cursor, before it when forward is
// false, that satisfies ok. It reports whether there is one.
func (l *List[T]) Seek(forward bool, ok func(T) bool) bool {
	step := 1
	if !forward {
		step = -1
	}
	for i := l.Index() + step; i >= 0 && i < len(l.items); i += step {
		if ok(l.items[i]) {
			l.Select(i)
			return true
		}
	}
	return false
}

// Find counts the loaded items that satisfy ok. When the selected one does not, the
// next that does is selected, else the one before; moved tells of that.
func (l *List[T]) Find(ok func(T) bool) (n int, moved bool) {
	for _, v := range l.items {
		if ok(v) {
			n++
		}
	}
	if v, selected := l.Selected(); n > 0 && selected && !ok(v) {
		moved = l.Seek(true, ok) || l.Seek(false, ok)
	}
	return n, moved
}
