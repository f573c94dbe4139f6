package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/rule"
)

func TestCheckPrintsSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range rule.SchemaNames() {
		want, err := rule.JSONSchema(name)
		if err != nil {
			t.Fatal(err)
		}
		code, got, stderr := command{t: t, args: []string{"check", "--schema", name}}.run()
		if code != exitOK || stderr != "" || got != string(want) || !json.Valid([]byte(got)) {
			t.Errorf("%s: got exit code %d, %q on standard error and %d bytes", name, code, stderr, len(got))
		}
	}
}

func TestCheckRefusesUnknownSchemas(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--schema", "flow"}, `sidecard check: --schema: no kind of rule files is called "flow"; there are ` + strings.Join(rule.SchemaNames(), ", ") + "\n"},
		{[]string{"--schema", "flow-rule"}, `sidecard check: --schema: no kind of rule files is called "flow-rule"; did you mean "flow-rules"?` + "\n"},
		{[]string{"--schema", ""}, `sidecard check: --schema: no kind of rule files is called ""; there are `},
		{[]string{"--schema", "bundle", "testdata/check/good"}, "sidecard check: --schema prints a schema and takes no PATH\n"},
		{nil, "sidecard check: requires at least 1 arg(s)"},
	} {
		code, stdout, stderr := command{t: t, args: append([]string{"check"}, tc.args...)}.run()
		if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, tc.want) {
			t.Errorf("%v: got exit code %d, %q and %q", tc.args, code, stdout, stderr)
		}
	}
}
