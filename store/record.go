package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A stored value is a codec byte and a body:
//
//	1  JSON
//	2  JSON, zstd
//	3  sha256 of a blob that holds the JSON
//
// Inside the JSON a long string may be replaced by a reference to a blob (see spill).
const (
	codecJSON = 1
	codecZstd = 2
	codecBlob = 3
)

const (
	compressOver = 1 << 10   // bytes of JSON above which zstd is tried
	maxValue     = 256 << 10 // bytes of a value; larger ones go to a blob
	maxExpanded  = 1 << 30   // bytes that a compressed value may expand to
)

var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
	if err != nil {
		panic(fmt.Sprintf("store: zstd encoder: %v", err)) // constant options: cannot fail
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxExpanded))
	if err != nil {
		panic(fmt.Sprintf("store: zstd decoder: %v", err)) // constant options: cannot fail
	}
	return d
})

// marshal returns v as compact JSON without HTML escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// unmarshal decodes JSON; with numbers, numbers of untyped values stay exact (json.Number).
func unmarshal(raw []byte, v any, numbers bool) error {
	if !numbers {
		return json.Unmarshal(raw, v)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return damaged("more than one JSON value")
	}
	return nil
}

// blobSink takes the blobs that packing a record makes.
type blobSink interface {
	putBlob(content []byte) (sum [32]byte, err error)
}

// packLifted turns JSON into a stored value of at most about maxValue bytes. Marks of l in
// it stand for texts that are blobs already.
func packLifted(raw []byte, blobs blobSink, l lifted) ([]byte, error) {
	raw, err := spill(raw, blobs, l)
	if err != nil {
		return nil, err
	}
	if len(raw) > compressOver {
		z := encoder().EncodeAll(raw, append(make([]byte, 0, len(raw)/2), codecZstd))
		if len(z) > maxValue {
			sum, err := blobs.putBlob(raw)
			if err != nil {
				return nil, err
			}
			return append([]byte{codecBlob}, sum[:]...), nil
		}
		if len(z) < len(raw) {
			return z, nil
		}
	}
	return append(append(make([]byte, 0, len(raw)+1), codecJSON), raw...), nil
}

// unpack is the inverse of pack. What cannot be unpacked is *damage.
func unpack(snap snapshot, value []byte) ([]byte, error) {
	raw, err := expand(snap, value)
	if err != nil {
		return nil, err
	}
	return unspill(snap, raw)
}

// expand undoes the codec but leaves blob references inside the JSON alone.
func expand(snap snapshot, value []byte) ([]byte, error) {
	if len(value) == 0 {
		return nil, damaged("empty value")
	}
	switch body := value[1:]; value[0] {
	case codecJSON:
		return body, nil
	case codecZstd:
		raw, err := decoder().DecodeAll(body, nil)
		if err != nil {
			return nil, damaged("zstd: %v", err)
		}
		return raw, nil
	case codecBlob:
		if len(body) != 32 {
			return nil, damaged("blob reference of %d bytes", len(body))
		}
		return readBlob(snap, [32]byte(body))
	default:
		return nil, damaged("unknown codec %d", value[0])
	}
}
