package llmproxy

import (
	"context"
	"strings"
	"testing"

	"vise/engine/model"
	"vise/engine/model/cassette"
)

// An answer without usage is guessed from its bytes where it is a text; the numbers of an
// embedding are no tokens.
func TestEmbeddingsAreNotGuessed(t *testing.T) {
	for path, want := range map[string]int64{"/v1/embeddings": 0, "/v1/chat/completions": 2500} {
		ledger := model.NewLedger(model.Budget{})
		hold, err := ledger.Reserve(Purpose, 10, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		settle(context.WithValue(t.Context(), reserved{}, reservation{hold: hold, input: 10}),
			cassette.Exchange{Path: path, Status: 200, Body: []byte(strings.Repeat("0.125,", 10_000/6) + "0.12")})
		if got := ledger.Total(); got.Input != 10 || got.Output != want {
			t.Errorf("%s: booked %+v, want %d of output", path, got, want)
		}
	}
}
