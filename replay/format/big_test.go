package format_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"vise/engine/trace"
	"vise/replay/format"
)

// generate writes a Claude Code log of about size bytes: turns of reads, edits and
// shell commands with results of 0.2 to 40 KB, as real logs have.
func generate(tb testing.TB, path string, size int) {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	rng := rand.New(rand.NewPCG(7, 11))
	words := strings.Fields(`func return err nil if the order refund status is open close session token path value = := { } ( ) test import package
		const range string int index "quoted \"text\"" line\n next\t tab https://example.org/a/b?c=d id-4821 0x7f3a 2026-03-01T09:00:00Z key: value`)
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[rng.IntN(len(words))])
			b.WriteByte(' ')
		}
		return strconv.Quote(b.String())
	}
	written, turn := 0, 0
	line := func(format string, args ...any) {
		n, err := fmt.Fprintf(w, format+"\n", args...)
		if err != nil {
			tb.Fatal(err)
		}
		written += n
	}
	const head = `"sessionId":"5e0c1d2a-0001-4000-8000-00000000d35c","version":"2.1.12","cwd":"/home/dev/desk","gitBranch":"main","timestamp":"2026-03-01T09:00:00.000Z"`
	for written < size {
		line(`{"type":"user","uuid":"u%d",%s,"message":{"role":"user","content":%s}}`, turn, head, text(300))
		for step := range 4 + rng.IntN(8) {
			id := fmt.Sprintf("%d.%d", turn, step)
			line(`{"type":"assistant","uuid":"a%s",%s,"message":{"id":"msg_%s","model":"model-a","content":[{"type":"text","text":%s}],"usage":{"input_tokens":1200,"output_tokens":80}}}`, id, head, id, text(400))
			line(`{"type":"assistant","uuid":"b%s",%s,"message":{"id":"msg_%s","model":"model-a","content":[{"type":"tool_use","id":"toolu_%s","name":"Read","input":{"file_path":"/home/dev/desk/%s.go"}}],"usage":{"input_tokens":1200,"output_tokens":90}}}`, id, head, id, id, id)
			n := 200 << rng.IntN(8)
			result := text(n)
			line(`{"type":"user","uuid":"r%s",%s,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%s","content":%s}]},"toolUseResult":{"type":"text","file":{"content":%s}}}`, id, head, id, result, result)
		}
		turn++
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
}

// peak is a sink that keeps nothing but the largest heap it has seen.
type peak struct {
	turns int
	heap  uint64
}

func (p *peak) Begin(trace.Session) error { return nil }
func (p *peak) End(trace.Session) error   { return nil }
func (p *peak) Turn(trace.Turn) error {
	if p.turns++; p.turns%64 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		p.heap = max(p.heap, m.HeapInuse)
	}
	return nil
}

// BenchmarkReadGenerated reads a generated log of VISE_BENCH_MB megabytes (default
// 32), masking included: its speed, and the peak of the heap, which must not grow
// with the size of the file. "VISE_BENCH_MB=1024 go test ./replay/format -run - -bench Generated -benchtime 1x".
func BenchmarkReadGenerated(b *testing.B) {
	mb := 32
	if n, err := strconv.Atoi(os.Getenv("VISE_BENCH_MB")); err == nil && n > 0 {
		mb = n
	}
	path := filepath.Join(b.TempDir(), "big.jsonl")
	generate(b, path, mb<<20)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	p := &peak{}
	for b.Loop() {
		if _, err := format.Read(context.Background(), path, format.Options{}, p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(p.heap)/(1<<20), "peak-MB")
}
