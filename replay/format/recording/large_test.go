package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// own decodes itself into fields that nobody else can set.
type own struct {
	text string
	raw  json.RawMessage
}

func (o *own) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return Decode(b, &o.text)
	}
	o.raw = append(o.raw, b...)
	return nil
}

// TestLargeRecords: a record whose long texts are taken out decodes to what
// encoding/json makes of it, wherever the texts stand.
func TestLargeRecords(t *testing.T) {
	big := strings.Repeat(`plain \"quoted\" \u00e9 日本 \ud83d\ude00\n`, 5000)
	plain := strings.Repeat("no escapes at all ", largeText/10)
	type shape struct {
		Text  string
		Raw   json.RawMessage
		Any   any
		Map   map[string]string
		Ptr   *string
		List  []own
		Own   own
		Bytes [2]string
	}
	for _, record := range []string{
		fmt.Sprintf(`{"Text":"%s","Raw":{"a":"%s","b":[1,"%s"]},"Any":{"k":["%s",1.50]},"n":9007199254740993}`, big, big, plain, plain),
		fmt.Sprintf(` {"Map":{"k":"%s"},"Ptr":"%s","List":["%s",{"x":"%s"}],"Own":{"deep":["%s"]},"Bytes":["%s","short"]} `, big, plain, plain, plain, big, plain),
		fmt.Sprintf(`{"%s":1,"Text":"%s"}`, plain, big),
		fmt.Sprintf("{\"Text\":\"%s\xff\xfe\",\"Raw\":\"%s\"}", big, big),
		fmt.Sprintf(`{"Text":17,"Ptr":"%s"}`, big), // a value of another type leaves its field empty
	} {
		data := []byte(record)
		for _, exact := range []bool{false, true} {
			var want, got shape
			werr := unmarshal(data, &want, exact)
			before := bytes.Clone(data)
			done, err := large(data, &got, exact)
			if !done || (err == nil) != (werr == nil) {
				t.Fatalf("%.40s: done %v, %v; encoding/json says %v", record, done, err, werr)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%.40s: decoded to something else", record)
			}
			if !bytes.Equal(data, before) {
				t.Errorf("%.40s: the record was changed", record)
			}
		}
	}
	if done, _ := large([]byte(`{"a":`+strings.Repeat("1", largeRecord)), new(any), false); done {
		t.Error("a text that is no JSON was decoded")
	}
	if done, _ := large([]byte(`[`+strings.Repeat(`"short",`, largeRecord/8)+`1]`), new(any), false); done {
		t.Error("a record of short texts has nothing to take out")
	}
}
