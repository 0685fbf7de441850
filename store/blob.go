package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

const (
	spillOver = 16 << 10  // bytes of a JSON string above which it becomes a blob
	blobChunk = 256 << 10 // bytes of blob content per chunk
)

// A reference to a blob inside JSON is a string that starts with NUL and "b",
// followed by the sha256 in hexadecimal. Every real string that starts with NUL is
// spilled whatever its length, so a reference is never mistaken. The blob holds the
// text between the quotes as JSON has it, escapes included.
const refOpen = `"\u0000`
const refMark = refOpen + `b`

// spill moves the long strings of a JSON text to blobs.
func spill(raw []byte, blobs blobSink, l lifted) ([]byte, error) {
	if len(raw) <= spillOver && !bytes.Contains(raw, []byte(refOpen)) {
		return raw, nil
	}
	return replaceStrings(raw, func(s []byte) ([]byte, error) {
		if len(s) <= spillOver && !bytes.HasPrefix(s, []byte(refOpen)) {
			return nil, nil
		}
		sum, ok := l.blob(s)
		if !ok {
			var err error
			if sum, err = blobs.putBlob(s[1 : len(s)-1]); err != nil {
				return nil, err
			}
		}
		ref := append([]byte(refMark), hex.EncodeToString(sum[:])...)
		return append(ref, '"'), nil
	})
}

// unspill puts the blobs back in.
func unspill(snap snapshot, raw []byte) ([]byte, error) {
	if !bytes.Contains(raw, []byte(refMark)) {
		return raw, nil
	}
	return replaceStrings(raw, func(s []byte) ([]byte, error) {
		sum, ok := parseRef(s)
		if !ok {
			return nil, nil
		}
		content, err := readBlob(snap, sum)
		if err != nil {
			return nil, err
		}
		out := append(make([]byte, 0, len(content)+2), '"')
		return append(append(out, content...), '"'), nil
	})
}

func parseRef(s []byte) (sum [32]byte, ok bool) {
	if len(s) != len(refMark)+65 || !bytes.HasPrefix(s, []byte(refMark)) {
		return sum, false
	}
	_, err := hex.Decode(sum[:], s[len(refMark):len(s)-1])
	return sum, err == nil
}

// replaceStrings calls fn with every string token of a JSON text, quotes included,
// and puts in its place what fn returns; nil leaves it.
func replaceStrings(raw []byte, fn func(token []byte) ([]byte, error)) ([]byte, error) {
	var out []byte
	copied := 0
	for i := 0; ; {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			break
		}
		start := i + n
		end := stringEnd(raw, start)
		if end < 0 {
			return nil, damaged("JSON string without an end at byte %d", start)
		}
		with, err := fn(raw[start:end])
		if err != nil {
			return nil, err
		}
		if with != nil {
			out = append(append(out, raw[copied:start]...), with...)
			copied = end
		}
		i = end
	}
	if copied == 0 {
		return raw, nil
	}
	return append(out, raw[copied:]...), nil
}

// stringEnd returns the index behind the closing quote of the string at start, or -1.
func stringEnd(raw []byte, start int) int {
	for i := start + 1; ; {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return -1
		}
		i += n + 1
		slashes := 0
		for j := i - 2; j > start && raw[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

func blobKey(sum [32]byte) []byte { return append([]byte{kindBlob}, sum[:]...) }

func blobChunkKey(sum [32]byte, chunk int) []byte {
	return u32(append([]byte{kindBlobChunk}, sum[:]...), uint32(chunk))
}

// blobHeader is the value under blobKey: length u64, chunks u32. It is written after
// the chunks, so that a header means a whole blob.
func blobHeader(length, chunks int) []byte { return u32(u64(nil, uint64(length)), uint32(chunks)) }

func parseBlobHeader(v []byte) (length uint64, chunks int, ok bool) {
	if len(v) != 12 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(v), int(binary.BigEndian.Uint32(v[8:])), true
}

// writeBlob hands the entries of a blob to set, the header last.
func writeBlob(sum [32]byte, content []byte, set func(key, value []byte) error) error {
	w := blobWriter{sum: sum, set: set}
	if err := w.add(content); err != nil {
		return err
	}
	return w.end()
}

// blobWriter writes a blob whose digest is known piece by piece.
type blobWriter struct {
	sum    [32]byte
	set    func(key, value []byte) error
	rest   []byte // less than a chunk
	chunks int
	length int
}

func (w *blobWriter) add(part []byte) error {
	w.length += len(part)
	for len(w.rest)+len(part) >= blobChunk {
		chunk := part[:blobChunk-len(w.rest)]
		part = part[len(chunk):]
		if len(w.rest) > 0 {
			chunk, w.rest = append(w.rest, chunk...), w.rest[:0]
		}
		if err := w.chunk(chunk); err != nil {
			return err
		}
	}
	w.rest = append(w.rest, part...)
	return nil
}

func (w *blobWriter) chunk(chunk []byte) error {
	z := encoder().EncodeAll(chunk, append(make([]byte, 0, len(chunk)/2), codecZstd))
	if len(z) > len(chunk) {
		z = append(append(z[:0], codecJSON), chunk...)
	}
	w.chunks++
	return w.set(blobChunkKey(w.sum, w.chunks-1), z)
}

// end writes what is left and the header.
func (w *blobWriter) end() error {
	if len(w.rest) > 0 {
		if err := w.chunk(w.rest); err != nil {
			return err
		}
	}
	return w.set(blobKey(w.sum), blobHeader(w.length, w.chunks))
}

// readBlob returns the content of a blob. A blob that is missing, cut or altered is *damage.
func readBlob(snap snapshot, sum [32]byte) ([]byte, error) {
	var content []byte
	err := eachChunk(snap, sum, func(length uint64) { content = make([]byte, 0, length) },
		func(chunk []byte) (bool, error) {
			content = append(content, chunk...)
			return true, nil
		})
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(content) != sum {
		return nil, damaged("blob %x does not match its digest", sum[:6])
	}
	return content, nil
}

// eachChunk hands the length of a blob to begin and its content, piece by piece, to fn,
// for as long as that wants more. A piece is only valid during the call.
func eachChunk(snap snapshot, sum [32]byte, begin func(length uint64), fn func(chunk []byte) (more bool, err error)) error {
	v, found, err := snap.get(blobKey(sum))
	if err != nil {
		return err
	}
	if !found {
		return damaged("blob %x is missing", sum[:6])
	}
	length, chunks, ok := parseBlobHeader(v)
	if !ok || length > maxExpanded {
		return damaged("blob %x has a bad header", sum[:6])
	}
	begin(length)
	var plain []byte
	for i := range chunks {
		v, found, err := snap.get(blobChunkKey(sum, i))
		if err != nil {
			return err
		}
		if !found || len(v) == 0 {
			return damaged("blob %x lacks chunk %d", sum[:6], i)
		}
		chunk := v[1:]
		switch v[0] {
		case codecJSON:
		case codecZstd:
			if plain, err = decoder().DecodeAll(v[1:], plain[:0]); err != nil {
				return damaged("blob %x chunk %d: zstd: %v", sum[:6], i, err)
			}
			chunk = plain
		default:
			return damaged("blob %x chunk %d: unknown codec %d", sum[:6], i, v[0])
		}
		if more, err := fn(chunk); err != nil || !more {
			return err
		}
	}
	return nil
}

// blobRefs returns the blobs that a stored value refers to, directly or inside its JSON.
func blobRefs(snap snapshot, value []byte) ([][32]byte, error) {
	var refs [][32]byte
	if len(value) == 33 && value[0] == codecBlob {
		refs = append(refs, [32]byte(value[1:]))
	}
	raw, err := expand(snap, value)
	if err != nil || !bytes.Contains(raw, []byte(refMark)) {
		return refs, err
	}
	_, err = replaceStrings(raw, func(s []byte) ([]byte, error) {
		if sum, ok := parseRef(s); ok {
			refs = append(refs, sum)
		}
		return nil, nil
	})
	return refs, err
}
