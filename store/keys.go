package store

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"crypto/sha256"
)

// The key space. A key is one kind byte followed by parts. A part is a big-endian
// integer (uN), a time (seconds u64 with the sign bit flipped, nanoseconds u32), a
// sha256, or a text: its UTF-8 bytes with 0x00 as 00 ff, ended by 00 01, so that
// byte order is code point order and no text is a prefix of another. The value of
// an index key is the key of the record that it points to.
//
//	m  meta name                          schema version
//	j  seq u64                            journal event
//	J  type, seq                          index: events by type
//	K  session, seq                       index: events by session
//	s  session                            session head
//	o  time, session                      index: sessions by time
//	O  origin, time, session              index: sessions by origin and time
//	a  time, session                      index: sessions by when they were last stored
//	i  session                            counts over the session's turns
//	W  time, session                      index: pinned sessions by time
//	I  name, session                      index: sessions that a person has named
//	U  session                            session head that was removed and can be restored
//	X  session                            session whose removal has begun
//	t  session, turn u32                  turn without its spans
//	T  trace id, session, turn            index: turn by trace
//	p  stage u64, chunk u32               spans of a turn, up to 256 KB a chunk
//	S  stage                              stage that no turn refers to (yet, or any more)
//	B  sha256                             blob header: length, number of chunks
//	b  sha256, chunk u32                  blob chunk, up to 256 KB
//	u  session, turn                      score report
//	g  name                               state document
//	n  notice                             notice
//	N  created_at, notice                 index: notices by creation
//	P  session, notice                    index: pending notices
//	e  episode                            episode
//	E  created_at, episode                index: episodes by creation
//	F  session, created_at, episode       index: episodes by session
//	k  episode, attempt u32, turn u32     repair step
//	r  rule                               rule, newest version
//	R  rule, version u32                  rule version
//	l  created_at, rule                   index: rules in listing order
//	x  status, created_at, rule           index: rules by status
//	y  scope, status, created_at, rule    index: rules by scope
//	w  token, status, rule                index: rules by token
//	d  scope                              scope description
//	c  case                               case
//	C  created_at, case                   index: cases by creation
//	D  kind, created_at, case             index: cases by kind
//	H  signature, created_at, case        index: cases by signature
//	q  dedup key, case                    index: cases by dedup key
//	v  verdict                            verdict
//	V  rule, time, verdict                index: verdicts by rule
//	M  test                               paired test
//	A  rule, time, test                   index: paired tests by rule
//	L  test, number u32                   pair of a paired test
//	Y  bank, case, number u32             control run that candidates share
//	h  pid u32, start u64                 process record
//	z  run                                patch run
//	Z  time, run                          index: patch runs by creation
//	G  run                                repair loop of a patch run
//	f  session, seq u32                   model call of the session's agent
//	Q  key of a record                    quarantined copy
const (
	kindMeta         = 'm'
	kindEvent        = 'j'
	kindEventType    = 'J'
	kindEventSession = 'K'
	kindSession      = 's'
	kindSessionTime  = 'o'
	kindOriginTime   = 'O'
	kindSessionAge   = 'a'
	kindCounts       = 'i'
	kindPinned       = 'W'
	kindNamed        = 'I'
	kindTrash        = 'U'
	kindRemoving     = 'X'
	kindTurn         = 't'
	kindTrace        = 'T'
	kindSpans        = 'p'
	kindStage        = 'S'
	kindBlob         = 'B'
	kindBlobChunk    = 'b'
	kindReport       = 'u'
	kindState        = 'g'
	kindNotice       = 'n'
	kindNoticeTime   = 'N'
	kindPending      = 'P'
	kindEpisode      = 'e'
	kindEpisodeTime  = 'E'
	kindEpisodeOf    = 'F'
	kindStep         = 'k'
	kindRule         = 'r'
	kindRuleVersion  = 'R'
	kindRuleList     = 'l'
	kindRuleStatus   = 'x'
	kindRuleScope    = 'y'
	kindRuleToken    = 'w'
	kindScopeText    = 'd'
	kindCase         = 'c'
	kindCaseTime     = 'C'
	kindCaseKind     = 'D'
	kindCaseSig      = 'H'
	kindCaseKey      = 'q'
	kindVerdict      = 'v'
	kindVerdictRule  = 'V'
	kindTest         = 'M'
	kindTestRule     = 'A'
	kindPair         = 'L'
	kindControl      = 'Y'
	kindProcess      = 'h'
	kindPatchRun     = 'z'
	kindPatchTime    = 'Z'
	kindPatchLoop    = 'G'
	kindExchange     = 'f'
	kindQuarantine   = 'Q'
)

// maxPart is the longest text in bytes that goes into a key as it is. A longer one
// keeps its first bytes, for the order, and its sha256, for the identity.
const maxPart = 256

// key returns kind followed by the texts.
func key(kind byte, texts ...string) []byte {
	n := 1
	for _, t := range texts {
		n += len(t) + 2
	}
	k := append(make([]byte, 0, n+12), kind)
	for _, t := range texts {
		k = part(k, t)
	}
	return k
}

func part(k []byte, text string) []byte {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > maxPart {
		sum := sha256.Sum256([]byte(text))
		k = escaped(k, text[:maxPart-64])
		k = append(k, 0x00, 0x02)
		// Hexadecimal keeps the part free of 0xff, which ends reverse scans.
		k = fmt.Appendf(k, "%x", sum)
		return append(k, 0x00, 0x01)
	}
	return append(escaped(k, text), 0x00, 0x01)
}

func escaped(k []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		k = append(k, text[i])
		if text[i] == 0 {
			k = append(k, 0xff)
		}
	}
	return k
}

func u32(k []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(k, n) }
func u64(k []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(k, n) }

func at(k []byte, t time.Time) []byte {
	k = u64(k, uint64(t.Unix())^1<<63)
	return u32(k, uint32(t.Nanosecond()))
}

// index maps a Go int (turn, attempt) to a key part; negative numbers sort first.
func index(k []byte, n int) []byte { return u32(k, uint32(int32(n))^1<<31) }

func metaKey(name string) []byte { return key(kindMeta, name) }
func eventKey(seq uint64) []byte { return u64([]byte{kindEvent}, seq) }

func turnKey(session string, turn int) []byte { return index(key(kindTurn, session), turn) }

func spansKey(stage uint64, chunk int) []byte {
	return u32(u64([]byte{kindSpans}, stage), uint32(chunk))
}

func stageKey(stage uint64) []byte { return u64([]byte{kindStage}, stage) }

// last returns a key behind every key with the prefix: no part holds that many 0xff.
func last(prefix []byte) []byte {
	k := append(make([]byte, 0, len(prefix)+10), prefix...)
	return append(k, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
}

// keyText renders a record key for people: the kind's name and the readable parts.
func keyText(k []byte) string {
	if len(k) == 0 {
		return "empty key"
	}
	var b strings.Builder
	b.WriteString(kindName(k[0]))
	b.WriteByte(' ')
	switch k[0] {
	case kindEvent, kindSpans, kindStage, kindBlob, kindBlobChunk, kindProcess:
		fmt.Fprintf(&b, "%x", k[1:])
		return b.String()
	}
	rest := k[1:]
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == 0 && i+1 < len(rest) && rest[i+1] == 1:
			if i+2 < len(rest) {
				b.WriteByte('/')
			}
			i++
		case c >= 0x20 && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "\\x%02x", c)
		}
	}
	return b.String()
}

func kindName(kind byte) string {
	switch kind {
	case kindMeta:
		return "meta"
	case kindCounts:
		return "session counts"
	case kindSpans:
		return "spans"
	case kindBlob:
		return "blob"
	case kindBlobChunk:
		return "blob chunk"
	case kindStage:
		return "stage"
	case kindRemoving:
		return "removal"
	case kindQuarantine:
		return "quarantine"
	}
	for _, t := range tables {
		if t.kindByte() == kind {
			return t.label()
		}
	}
	return fmt.Sprintf("index %q", rune(kind))
}
