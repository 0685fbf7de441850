package store

import (
	"crypto/sha256"
	"strconv"

	badger "github.com/dgraph-io/badger/v4"

	"vise/engine/longtext"
	"vise/engine/trace"
)

// liftOver is the length of a text, in bytes, from which a stage makes a blob of it
// before the record around it is written as JSON: a text of 80 MB would be in memory
// four times otherwise. Reading puts such a text in its place behind the decoding, for
// the same reason (longread.go).
const liftOver = longtext.Over

// lifted are the texts of a stage that are blobs already. In the record stands a mark
// instead, which spill turns into the reference. The mark begins with a random text,
// so that nothing that is recorded can be one.
type lifted struct {
	mark string
	sums [][32]byte
}

// blob returns the blob that a JSON string, quotes included, is the mark of.
func (l lifted) blob(token []byte) (sum [32]byte, ok bool) {
	const quoted = `"\u0000` // how JSON spells the start of a mark
	if len(l.sums) == 0 || len(token) < len(quoted)+len(l.mark) || string(token[:len(quoted)]) != quoted {
		return sum, false
	}
	rest := token[len(quoted) : len(token)-1]
	if string(rest[:len(l.mark)-1]) != l.mark[1:] {
		return sum, false
	}
	i, err := strconv.Atoi(string(rest[len(l.mark)-1:]))
	if err != nil || i < 0 || i >= len(l.sums) {
		return sum, false
	}
	return l.sums[i], true
}

// lift makes blobs of the long texts of a span and returns it with marks in their place.
func (w *stager) lift(s trace.Span) (trace.Span, error) {
	for _, p := range []*string{&s.Input, &s.Output, &s.Thought} {
		if len(*p) <= liftOver {
			continue
		}
		var err error
		if *p, err = w.text(*p); err != nil {
			return s, err
		}
	}
	return s, nil
}

// text makes a blob of a text and returns its mark.
func (w *stager) text(s string) (string, error) {
	h := sha256.New()
	if err := longtext.Spell(s, func(part []byte) error { h.Write(part); return nil }); err != nil {
		return "", err
	}
	sum := [32]byte(h.Sum(nil))
	w.s.stages.refer(w.stage, sum)
	found := false
	err := w.s.db.View(func(txn *badger.Txn) (err error) {
		_, found, err = localSnapshot{txn}.get(blobKey(sum))
		return err
	})
	if err != nil {
		return "", err
	}
	if !found {
		b := &blobWriter{sum: sum, set: w.set}
		if err := longtext.Spell(s, b.add); err != nil {
			return "", err
		}
		if err := b.end(); err != nil {
			return "", err
		}
	}
	w.lifted.sums = append(w.lifted.sums, sum)
	return w.lifted.mark + strconv.Itoa(len(w.lifted.sums)-1), nil
}
