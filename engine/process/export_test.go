package process

// KeepEnds is what Run keeps of pieces of output.
func KeepEnds(limit int, pieces [][]byte) Output {
	e := NewEnds(limit)
	for _, p := range pieces {
		e.Write(p)
	}
	return e.Output()
}
