package local

import (
	"slices"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"$1,234.50 for 2 of 10.0 kg", []string{"1234.50", "2", "10"}},
		{"W123 4a a5 6_", nil},
		{"US$5", []string{"5"}},
		{"3.14159", []string{"3.14"}},
		{"1.5x", []string{"1"}}, // the decimal part is followed by a letter, the whole part is not
		{"12,3x 12,,x", []string{"12", "12"}},
		{"1.2.3", []string{"1.20"}}, // .3 follows a dot
		{"10.", []string{"10"}},
		{".5", nil},
		{"(42)", []string{"42"}},
		{"-7", []string{"7"}},
		{"007 0", []string{"7", "0"}},
		{"é9 9é", nil},
		{"$", nil},
		{"2024-05-01", []string{"2024", "5", "1"}},
		{"1e5", nil},
		{"123456789012345678901", []string{"123456789012345683968"}}, // compared as a double
		{"0.125 0.375", []string{"0.12", "0.38"}},
	} {
		var got []string
		eachNumber(c.in, func(n []byte) { got = append(got, string(n)) })
		if !slices.Equal(got, c.want) {
			t.Errorf("numbers of %q = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestTelling(t *testing.T) {
	for n, want := range map[string]bool{"7": false, "10": true, "0.05": false, "0.55": true, "0": false, "1.50": true} {
		if telling(n) != want {
			t.Errorf("telling(%s) = %t", n, !want)
		}
	}
}
