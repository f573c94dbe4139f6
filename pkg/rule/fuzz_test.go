package rule

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// seeds adds the rule files of the golden sets with one extension, and odd ones.
func seeds(f *testing.F, ext string, more ...string) {
	files, err := filepath.Glob("testdata/golden/*/*" + ext)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, data := range more {
		f.Add([]byte(data))
	}
}

// loadAny loads data as every kind that is supported and holds Load to what it promises.
func loadAny(t *testing.T, ext string, data []byte) {
	for _, stem := range []string{"gw-flow-rules", "gw-api-definitions", "rules", "flow-rules", "param-flow-rules", "degrade-rules", "system-rules", "authority-rules"} {
		set, ps := Load([]File{{stem + ext, data}}, Options{})
		failed := ps.Err() != nil
		if failed != (set.Revision == "") || failed && len(set.Limits)+len(set.APIs)+len(set.Degrade) > 0 {
			t.Fatalf("%s: %d rules, revision %q, error %v", stem, len(set.Limits), set.Revision, ps.Err())
		}
		for _, p := range ps {
			if p.Pos.File != stem+ext || p.Pos.Line < 0 || p.Pos.Column < 0 || p.Message == "" {
				t.Fatalf("problem %+v", p)
			}
			if text := p.String(); !utf8.ValidString(text) || strings.ContainsFunc(text, unseen) {
				t.Fatalf("problem %q", text) // it ends on terminals and in logs, one a line
			}
		}
		ids := make(map[string]bool)
		for i := range set.Limits {
			r := &set.Limits[i]
			if reason := broken(r); ids[r.ID] || r.ID == "" || reason != "" {
				t.Fatalf("%s: rule %+v", reason, r)
			}
			ids[r.ID] = true
		}
		for i := range set.Degrade {
			r := &set.Degrade[i]
			if reason := brokenDegrade(r); ids[r.ID] || r.ID == "" || reason != "" {
				t.Fatalf("%s: rule %+v", reason, r)
			}
			ids[r.ID] = true
		}
	}
}

func FuzzLoadJSON(f *testing.F) {
	seeds(f, ".json", `[{"resource":"a(?=b)","regex":true,"count":+5}]`, "[{“a”:1}]", "\ufeff\ufeff[1_0]", `[{"qps":-1},{"avgRt":1.5}]`, `[{"a":1,}]`, `{"domain":"x","descriptors":[{"key":"a"}]}`, `["\ud800"]`, "\ufeff[]", `[1e400]`)
	f.Fuzz(func(t *testing.T, data []byte) { loadAny(t, ".json", data) })
}

func FuzzLoadYAML(f *testing.F) {
	seeds(f, ".yaml", "-\u00a0a: 5.\n", "- resource:a\n", "- a: b: c\n", "-\ta: .5\n", "a: &x [*x]\n", "- &a {b: 1}\n- <<: *a\n", "? [a]\n: 1\n", "--- |\n x\n...\n", "a: !!str 5\n", "- - - ? a\n", "a:\r\n\tb: 1", "'", "\"\\", "{a, b: }", "%YAML 1.2\n---\n")
	f.Fuzz(func(t *testing.T, data []byte) { loadAny(t, ".yaml", data) })
}
