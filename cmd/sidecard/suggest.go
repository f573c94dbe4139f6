package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// suggestFlag adds the flag that was probably meant to pflag's complaint about an unknown one.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fmt.Errorf("%w%s", err, didYouMean(unknown.GetSpecifiedName(), "--", names))
}

// didYouMean returns a hint at the names near to word, each with prefix in front, or nothing when
// none is near. What is near is cobra's notion, as it is for sub-commands.
func didYouMean(word, prefix string, names []string) string {
	dictionary := cobra.Command{SuggestionsMinimumDistance: min(2, max(1, len(word)/3))}
	for _, n := range names {
		dictionary.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	near := dictionary.SuggestionsFor(word)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(near, " or "+prefix) + "?"
}
