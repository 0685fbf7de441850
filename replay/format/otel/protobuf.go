package otel

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"vise/replay/format/recording"
)

// An export request and a file of them have the same shape in protobuf: field 1,
// repeated, holds the spans of one resource. The collector's file exporter writes
// requests one after the other, each behind its length in four bytes, big endian.
const resourceSpansTag = 1<<3 | 2

// IsProtobuf reports whether a file begins like OTLP in protobuf, and rewinds it.
func IsProtobuf(r io.ReadSeeker) (bool, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	head := make([]byte, 64)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	head = head[:n]
	if len(head) > 4 && head[4] == resourceSpansTag {
		if size := int64(binary.BigEndian.Uint32(head)); size > 1 && request(head[4:], size) {
			return true, nil
		}
	}
	return request(head, recording.MaxRecord), nil
}

// request reports whether bytes begin a request of up to max bytes: field 1, whose
// message begins with its field 1 (resource) or 2 (spans by scope) and is longer.
func request(b []byte, max int64) bool {
	if len(b) < 4 || b[0] != resourceSpansTag {
		return false
	}
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size < 4 || size > math.MaxInt32 || int64(size)+int64(n)+1 > max || len(b) < 1+n+2 {
		return false
	}
	inner := b[1+n:]
	if inner[0] != 1<<3|2 && inner[0] != 2<<3|2 {
		return false
	}
	nested, m := binary.Uvarint(inner[1:])
	return m > 0 && nested <= size-1-uint64(m)
}

// protobuf reads a file of requests, the spans of one resource at a time.
func (c *collector) protobuf(r io.Reader) error {
	br := bufio.NewReaderSize(r, 256<<10)
	var at int64
	damage := func(n int, reason string) {
		c.rec.Damage(recording.Damage{Line: 1, Offset: at, Bytes: n, Reason: reason})
	}
	for {
		if err := c.rec.Context().Err(); err != nil {
			return fmt.Errorf("read %s: %w", c.rec.Summary().Path, err)
		}
		head, err := br.Peek(16)
		if len(head) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read %s: %w", c.rec.Summary().Path, err)
		}
		skip := 0
		if head[0] != resourceSpansTag && len(head) > 4 && head[4] == resourceSpansTag {
			skip = 4 // the length of a request
		}
		if head[skip] != resourceSpansTag {
			damage(br.Buffered(), "not an OTLP request from here on")
			return nil
		}
		size, n := binary.Uvarint(head[skip+1:])
		if n <= 0 || size > recording.MaxRecord {
			damage(len(head), "the length of a record is not plausible")
			return nil
		}
		if _, err := br.Discard(skip + 1 + n); err != nil {
			return fmt.Errorf("read %s: %w", c.rec.Summary().Path, err)
		}
		raw, err := io.ReadAll(io.LimitReader(br, int64(size))) // grows with what is there: a length may lie
		if err != nil {
			return fmt.Errorf("read %s: %w", c.rec.Summary().Path, err)
		}
		if uint64(len(raw)) < size {
			damage(len(raw), "the record is cut off")
			return nil
		}
		var rs tracepb.ResourceSpans
		if err := proto.Unmarshal(raw, &rs); err != nil {
			damage(len(raw), "a record is not protobuf")
		} else {
			c.rec.Record()
			if err := c.resource(&rs); err != nil {
				return err
			}
		}
		at += int64(skip + 1 + n + len(raw))
	}
}

// resource takes the spans of one resource.
func (c *collector) resource(rs *tracepb.ResourceSpans) error {
	resource := pairs(rs.GetResource().GetAttributes())
	for _, sc := range rs.GetScopeSpans() {
		for _, p := range sc.GetSpans() {
			s := &span{trace: hex.EncodeToString(p.GetTraceId()), id: hex.EncodeToString(p.GetSpanId()), parent: hex.EncodeToString(p.GetParentSpanId()),
				name: p.GetName(), start: clock(p.GetStartTimeUnixNano()), end: clock(p.GetEndTimeUnixNano()), attrs: pairs(p.GetAttributes()), resource: resource,
				scope: sc.GetScope().GetName(), links: len(p.GetLinks()), failed: p.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
				message: p.GetStatus().GetMessage(), size: proto.Size(p)}
			for _, e := range p.GetEvents() {
				s.events = append(s.events, happening{e.GetName(), pairs(e.GetAttributes())})
			}
			s.adopt()
			if err := c.add(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func clock(ns uint64) time.Time {
	if ns == 0 || ns > math.MaxInt64 {
		return time.Time{}
	}
	return time.Unix(0, int64(ns)).UTC()
}

func pairs(list []*commonpb.KeyValue) attributes {
	out := make(attributes, len(list))
	for _, kv := range list {
		out[kv.GetKey()] = plain(kv.GetValue(), 0)
	}
	return out
}

func plain(v *commonpb.AnyValue, depth int) any {
	if depth > 100 {
		return nil
	}
	switch x := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return x.StringValue
	case *commonpb.AnyValue_IntValue:
		return json.Number(strconv.FormatInt(x.IntValue, 10))
	case *commonpb.AnyValue_DoubleValue:
		if math.IsNaN(x.DoubleValue) || math.IsInf(x.DoubleValue, 0) {
			return strconv.FormatFloat(x.DoubleValue, 'g', -1, 64)
		}
		return json.Number(strconv.FormatFloat(x.DoubleValue, 'g', -1, 64))
	case *commonpb.AnyValue_BoolValue:
		return x.BoolValue
	case *commonpb.AnyValue_BytesValue:
		return recording.Binary("bytes", "", base64.StdEncoding.EncodeToString(x.BytesValue))
	case *commonpb.AnyValue_ArrayValue:
		list := make([]any, len(x.ArrayValue.GetValues()))
		for i, e := range x.ArrayValue.GetValues() {
			list[i] = plain(e, depth+1)
		}
		return list
	case *commonpb.AnyValue_KvlistValue:
		m := map[string]any{}
		for _, kv := range x.KvlistValue.GetValues() {
			m[kv.GetKey()] = plain(kv.GetValue(), depth+1)
		}
		return m
	}
	return nil
}
