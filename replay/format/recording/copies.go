package recording

// maxCopied bounds the records, in bytes, that wait until it is known whether they are
// a copy. A larger copy is kept like anything else.
const maxCopied = 64 << 20

// Copies tells the log that was written twice, one whole after the other, where its
// records carry neither id nor time: each of them may well be said again, but not all of
// them in the same order. From the first record on, when it comes again, records are
// held back until as many as came before have been equal to those, one by one: then
// they are dropped. If one differs all of them are taken. The zero value is ready.
type Copies struct {
	marks [][16]byte // of the records taken
	held  []Record   // equal to the first of them so far
	bytes int        // of the records held
	whole int        // how many a copy has; 0 = nothing is held
	// Dropped is how many records were copies.
	Dropped int
}

// Take takes the next record, or finds it to be one of a copy. Its data may change when
// Take has returned.
func (c *Copies) Take(r Record, take func(Record) error) error {
	k := mark(r.Data)
	if c.whole > 0 {
		if k == c.marks[len(c.held)] && c.bytes+len(r.Data) <= maxCopied {
			if c.hold(r); len(c.held) == c.whole {
				c.Dropped += c.whole
				c.held, c.bytes, c.whole = nil, 0, 0
			}
			return nil
		}
		if err := c.Flush(take); err != nil {
			return err
		}
	}
	if len(c.marks) > 1 && len(c.marks) < maxSeen && k == c.marks[0] {
		c.whole = len(c.marks)
		c.hold(r)
		return nil
	}
	return c.pass(r, k, take)
}

// Flush takes the records that are held back: they are no copy.
func (c *Copies) Flush(take func(Record) error) error {
	held := c.held
	c.held, c.bytes, c.whole = nil, 0, 0
	for _, r := range held {
		if err := c.pass(r, mark(r.Data), take); err != nil {
			return err
		}
	}
	return nil
}

func (c *Copies) pass(r Record, k [16]byte, take func(Record) error) error {
	if len(c.marks) < maxSeen {
		c.marks = append(c.marks, k)
	}
	return take(r)
}

func (c *Copies) hold(r Record) {
	r.Data = append([]byte(nil), r.Data...)
	c.bytes += len(r.Data)
	c.held = append(c.held, r)
}
