package admin

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The page has a table of the fields of each answer, with all of them and no others.
func TestPageNamesAllFields(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/admin.md")
	if err != nil {
		t.Fatal(err)
	}
	for heading, answer := range map[string]any{
		"GET /api/v1/status": Status{}, "GET /api/v1/rules": Rules{}, "GET /api/v1/resources": Resources{}, "GET /api/v1/top": Top{},
		"GET or POST /api/v1/explain": Question{},
	} {
		_, section, ok := strings.Cut(string(text), "\n## "+heading+"\n")
		if !ok {
			t.Errorf("there is no section %q", heading)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var documented []string
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(section, -1) {
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				documented = append(documented, name[1])
			}
		}
		fields := paths(reflect.TypeOf(answer), "")
		slices.Sort(documented)
		slices.Sort(fields)
		for _, field := range fields {
			if !slices.Contains(documented, field) {
				t.Errorf("%s: `%s` is not there", heading, field)
			}
		}
		for _, field := range documented {
			if !slices.Contains(fields, field) {
				t.Errorf("%s: there is no `%s`", heading, field)
			}
		}
		if len(slices.Compact(documented)) != len(documented) && !t.Failed() {
			t.Errorf("%s: a field is there twice", heading)
		}
	}
	for _, e := range endpoints {
		if !strings.Contains(string(text), e.path) {
			t.Errorf("%s is not there", e.path)
		}
		for _, p := range e.params {
			if !strings.Contains(string(text), "`"+p+"`") {
				t.Errorf("the URL parameter %s of %s is not there", p, e.path)
			}
		}
	}
}

// paths returns the JSON paths of all fields of a type that hold no further ones.
func paths(of reflect.Type, prefix string) []string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct {
		of, prefix = of.Elem(), strings.TrimSuffix(prefix, ".")+"[]."
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		return []string{strings.TrimSuffix(prefix, ".")}
	}
	var all []string
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "inbound" { // as one of the resources, which the page says
			all = append(all, name)
			continue
		}
		if f.Anonymous {
			all = append(all, paths(f.Type, prefix)...)
			continue
		}
		all = append(all, paths(f.Type, prefix+name+".")...)
	}
	return all
}
