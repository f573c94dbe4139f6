package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// outputForm is the value of --output.
type outputForm struct{ name string }

// outputFlag defines --output on cmd.
func outputFlag(cmd *cobra.Command) *outputForm {
	f := new(outputForm)
	cmd.Flags().StringVarP(&f.name, "output", "o", "text", "`form` of the output: text or json")
	return f
}

func (f *outputForm) check() error {
	if f.name != "text" && f.name != "json" {
		return usageError{fmt.Errorf("--output: %q is neither text nor json", f.name)}
	}
	return nil
}

func (f *outputForm) json() bool { return f.name == "json" }

// writeIndented prints v as a JSON document for people and programs.
func writeIndented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
