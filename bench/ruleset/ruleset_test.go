package ruleset

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

func TestFilesAreValid(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {UserInterval: 1800}, {Others: 10}, {Others: 10, Generation: 1, Closed: true}} {
		set, problems := rule.Load(Files(o), rule.Options{})
		if len(problems) > 0 {
			t.Fatalf("%+v: %v", o, problems)
		}
		if len(set.Limits) != 2+o.Others || len(set.APIs) != o.Others/2 {
			t.Errorf("%+v: %d rules and %d API groups", o, len(set.Limits), len(set.APIs))
		}
		route, user := set.Limits[0], set.Limits[1]
		if route.Param != nil || (route.Limit == 0) != o.Closed {
			t.Errorf("%+v: the rule of the route is %+v", o, route)
		}
		if want := time.Duration(max(o.UserInterval, 1)) * time.Second; user.Param == nil || user.Interval != want {
			t.Errorf("%+v: the rule of the users is %+v", o, user)
		}
		if o.Others > 0 && set.Limits[2].Limit != int64(100+o.Generation) {
			t.Errorf("%+v: another rule is %+v", o, set.Limits[2])
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "rules")
	if err := Write(dir, Options{Others: 4}); err != nil {
		t.Fatal(err)
	}
	for _, f := range Files(Options{Others: 4}) {
		if got, err := os.ReadFile(filepath.Join(dir, f.Name)); err != nil || string(got) != string(f.Data) {
			t.Errorf("%s: %v\n%s", f.Name, err, got)
		}
	}
	if err := Write(dir, Options{}); err == nil {
		t.Error("no error for a directory that is there already")
	}
}
