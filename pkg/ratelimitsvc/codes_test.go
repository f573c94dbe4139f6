package ratelimitsvc

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func codesOf(t *testing.T, words ...string) *StatusCodes {
	t.Helper()
	s := new(StatusCodes)
	for _, w := range words {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestStatusCodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		words   []string
		in, out []string
		printed string
	}{
		{nil, nil, []string{"100", "500", "999"}, ""},
		{[]string{"5xx"}, []string{"500", "555", "599"}, []string{"499", "600", "0", "", "50", "5000", "5a0", "\xff\xff\xff"}, "5xx"},
		{[]string{"500-599"}, []string{"500", "599"}, []string{"499", "600"}, "5xx"},
		{[]string{"502-504", "429", "503"}, []string{"429", "502", "503", "504"}, []string{"428", "430", "501", "505"}, "429 502-504"},
		{[]string{"4XX", "5xx", "999", "100"}, []string{"100", "400", "599", "999"}, []string{"101", "399", "600", "998"}, "100 400-599 999"},
		{[]string{"599-600", "9xx"}, []string{"599", "600", "900"}, []string{"598", "601", "899"}, "599-600 9xx"},
	} {
		s := codesOf(t, tc.words...)
		for _, code := range tc.in {
			if !s.Has(code) {
				t.Errorf("%q lacks %q", tc.words, code)
			}
		}
		for _, code := range tc.out {
			if s.Has(code) {
				t.Errorf("%q has %q", tc.words, code)
			}
		}
		if got := strings.Join(s.Words(), " "); got != tc.printed {
			t.Errorf("%q is printed %q, want %q", tc.words, got, tc.printed)
		}
	}
	if got := ServerErrors().Words(); !slices.Equal(got, []string{"5xx"}) {
		t.Errorf("server errors are %q", got)
	}
}

func TestWordsThatAreNoStatusCodes(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"":        "neither a status code from 100 to 999",
		"0":       "neither",
		"99":      "neither",
		"1000":    "neither",
		"0xx":     "neither",
		"xxx":     "neither",
		"5x":      "neither",
		"50x":     "neither",
		"-500":    "neither",
		"500-":    "neither",
		"500-5xx": "neither",
		"+500":    "neither",
		"504-500": `"504-500" is a range that ends before it begins; write 500-504`,
	} {
		var s StatusCodes
		if err := s.Add(word); err == nil || !strings.Contains(err.Error(), want) || s != (StatusCodes{}) {
			t.Errorf("%q: got %v and %q, want %q", word, err, s.Words(), want)
		}
	}
}

// A set has what a plain map has, and its words make it again.
func TestStatusCodesAsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s StatusCodes
		plain := make(map[int]bool)
		for range rapid.IntRange(0, 5).Draw(t, "words") {
			from := rapid.IntRange(minStatus, maxStatus).Draw(t, "from")
			to := min(maxStatus, from+rapid.SampledFrom([]int{0, 1, 99, 100, 250}).Draw(t, "more"))
			if err := s.Add(strconv.Itoa(from) + "-" + strconv.Itoa(to)); err != nil {
				t.Fatal(err)
			}
			for code := from; code <= to; code++ {
				plain[code] = true
			}
		}
		for code := range 1100 {
			if got := s.Has(strconv.Itoa(code)); got != plain[code] {
				t.Fatalf("%d: %t, want %t", code, got, plain[code])
			}
		}
		var again StatusCodes
		for _, w := range s.Words() {
			if err := again.Add(w); err != nil {
				t.Fatal(err)
			}
		}
		if again != s {
			t.Errorf("%q is not the set it was made of", s.Words())
		}
	})
}

// What counts as an error is what the configuration says, and what Envoy's flags say.
func TestErrorsByConfiguration(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		errors         *StatusCodes
		code, flags    string
		error, aborted bool
	}{
		{codesOf(t, "429", "502-504"), "429", "-", true, false},
		{codesOf(t, "429", "502-504"), "500", "-", false, false},
		{codesOf(t, "429", "502-504"), "503", "UH", true, false},
		{codesOf(t, "429"), "503", "UH", true, false}, // not for its code
		{codesOf(t, "429"), "503", "DC", false, true},
		{codesOf(t), "500", "-", false, false},
		{codesOf(t), "503", "UF,URX", true, false},
		{codesOf(t, "1xx", "4xx", "5xx"), "0", "DC", false, true},
		{codesOf(t, "4xx"), "404", "DC", true, false},
		{nil, "500", "-", true, false},
		{nil, "429", "-", false, false},
	} {
		svc := newService(Config{Engine: newCallWorld(t).engine, Now: func() int64 { return epoch }, Errors: tc.errors})
		if got := svc.outcome(tc.code, tc.flags); got.Error != tc.error || got.Aborted != tc.aborted {
			t.Errorf("code %q, flags %q, errors %q: got %+v", tc.code, tc.flags, svc.cfg.Errors.Words(), got)
		}
	}
}
