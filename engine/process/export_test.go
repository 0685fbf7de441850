package process

// KeepEnds is what Run keeps of pieces of output.
func KeepEnds(limit int, pieces [][]byte) Output {
	e := &endsKept{half: max(limit/2, 1)}
	for _, p := range pieces {
		e.Write(p)
	}
	return e.output()
}
