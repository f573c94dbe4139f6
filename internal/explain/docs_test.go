package explain

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// The page names every key of the JSON document.
func TestThePageNamesEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| key | what it holds |")
	if !ok {
		t.Fatal("the page has no table")
	}
	named := make(map[string]bool)
	for _, quoted := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(table, -1) {
		for word := range strings.FieldsFuncSeq(quoted[1], func(r rune) bool { return r == ',' || r == ' ' }) {
			named[word] = true
		}
	}
	var look func(of reflect.Type)
	look = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			f := of.Field(i)
			if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" && !named[key] {
				t.Errorf("the key %s of %s is not there", key, of.Name())
			}
			look(f.Type)
		}
	}
	look(reflect.TypeFor[View]())
}
