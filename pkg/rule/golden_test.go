package rule

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden loads each folder below testdata/golden as one set, and compares the problems and the
// rules with its want.txt.
func TestGolden(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no golden sets: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			var files []File
			for _, pattern := range []string{"*.json", "*.yaml"} {
				names, err := filepath.Glob(filepath.Join(folder, pattern))
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range names {
					data, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					files = append(files, File{Name: "rules/" + filepath.Base(name), Data: data})
				}
			}
			set, ps := Load(files, Options{})
			var b strings.Builder
			for _, p := range ps {
				b.WriteString(p.String() + "\n")
			}
			text, err := json.MarshalIndent(set, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			b.Write(text)
			b.WriteByte('\n')
			golden := filepath.Join(folder, "want.txt")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
