package rule_test

import (
	"slices"
	"testing"

	"vise/engine/rule"
)

func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"words", "Retry a slow payment_2 at 10:30", []string{"10", "30", "at", "payment_2", "retry", "slow"}},
		{"accents", "überprüfe Café", []string{"café", "überprüfe"}},
		{"composed and decomposed", "caf\u00e9 cafe\u0301", []string{"café"}},
		{"folded", "STRASSE straße", []string{"strasse"}},
		{"Cyrillic", "Проверь статус", []string{"проверь", "статус"}},
		{"Greek, final sigma", "ΟΔΟΣ οδος", []string{"οδοσ"}},
		{"Arabic digits", "رقم ٤٢", []string{"رقم", "٤٢"}},
		{"Devanagari vowel signs", "स्थिति जाँचें", []string{"जाँचें", "स्थिति"}},
		{"Hangul has spaces", "상태를 확인", []string{"상태를", "확인"}},
		{"Han and kana in pairs", "先に確認", []string{"に確", "先に", "確認"}},
		{"long vowel mark", "サーバ", []string{"サー", "ーバ"}},
		{"Thai", "ที่นี่", []string{"ที่นี่"}},
		{"scripts meet", "API先に2", []string{"api", "先に"}},
		{"one character is none", "a 先 é 1", nil},
		{"invisible characters part words", "retry\u200bslowly", []string{"retry", "slowly"}},
		{"a mark of nothing", "\u0301 \u0301x", nil},
	} {
		if got := rule.Tokens(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Tokens(%q) = %q, want %q", tt.name, tt.text, got, tt.want)
		}
	}
}

// TestSearchInEveryScript: a rule is found by the words of its own language.
func TestSearchInEveryScript(t *testing.T) {
	set := rule.NewSet([]rule.Rule{
		{ID: "r-ru", Text: "Проверь статус платежа", Status: rule.Active, Scope: "global"},
		{ID: "r-ja", Text: "払い戻しの前に注文を確認する", Status: rule.Active, Scope: "global"},
		{ID: "r-de", Text: "Überprüfe die Größe", Status: rule.Active, Scope: "global"},
	}, nil)
	for query, want := range map[string]string{"статус": "r-ru", "注文を確認": "r-ja", "größe": "r-de"} {
		hits, err := rule.Search(set, query, 1)
		if err != nil || len(hits) != 1 || hits[0].Rule.ID != want || hits[0].Score == 0 {
			t.Errorf("search %q: %+v, %v", query, hits, err)
		}
	}
}
