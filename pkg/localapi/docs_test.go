package localapi

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/calls"
)

// The page names every field, and the bounds as they are.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/local-api.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	names := append(append([]string{"items", "atomic", "second", "resources"}, queryFields...), completeFields...)
	for _, v := range []any{decision{}, resource{}, problem{}} {
		for f := range reflect.TypeOf(v).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page lacks the field %s", name)
		}
	}
	for _, bound := range []string{
		fmt.Sprintf("up to %d requests", maxItems), fmt.Sprintf("arguments, up to %d", maxArgs), fmt.Sprintf("At most %d watch", maxWatchers),
		fmt.Sprintf("a body above %d KiB", maxBody>>10), fmt.Sprintf("| %d KiB, 16 KiB; of bodies above %d KiB %d at a time; 10 s to send them, %.0f s to read an answer |", maxBody>>10, smallBody>>10, maxLarge, writing.Seconds()),
		fmt.Sprintf("later than %d ms before it", calls.AnswerTime.Milliseconds()),
	} {
		if !strings.Contains(page, bound) {
			t.Errorf("the page does not say %q", bound)
		}
	}
}
