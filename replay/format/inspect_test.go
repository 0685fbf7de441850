package format_test

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"vise/replay/format"
)

// An archive gives the same sessions as the document, packed either way. A log
// that still runs has no header; an entry that is cut off is kept as far as it goes.
func TestInspectArchive(t *testing.T) {
	raw, err := os.ReadFile(sessions("inspect", "log.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), "NaN", "null")), &doc); err != nil {
		t.Fatal(err)
	}
	var samples []json.RawMessage
	if err := json.Unmarshal(doc["samples"], &samples); err != nil {
		t.Fatal(err)
	}
	delete(doc, "samples")
	head, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := read(t, sessions("inspect", "log.json"), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		method  uint16
		head    string
		cut     int // bytes taken off the last sample
		damaged int
	}{
		{"deflate", zip.Deflate, "header.json", 0, 0},
		{"zstd", 93, "header.json", 0, 0},
		{"running", zip.Store, "_journal/start.json", 0, 0},
		{"cut", zip.Deflate, "header.json", 60, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.eval")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			z := zip.NewWriter(f)
			z.RegisterCompressor(93, zstd.ZipCompressor())
			put := func(name string, data []byte) {
				w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: c.method})
				if err == nil {
					_, err = w.Write(data)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			put("summaries.json", []byte("[]"))
			for i, s := range samples {
				if i == len(samples)-1 {
					s = s[:len(s)-c.cut]
				}
				put(fmt.Sprintf("samples/%d_epoch_1.json", i), s)
			}
			put(c.head, head)
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			got, sum, err := read(t, path, format.Options{})
			if err != nil || sum.Format != "inspect" || sum.DamagedTotal != c.damaged || sum.Sessions != len(samples) {
				t.Fatalf("%+v, %v", sum, err)
			}
			if c.damaged == 0 {
				same(t, want, got)
			} else if got.sessions[1].Attrs["cut"] != true || len(got.turns[got.sessions[1].ID]) != 1 {
				t.Errorf("the cut sample: %+v", got.sessions[1])
			}
		})
	}
}
