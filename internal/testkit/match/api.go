package match

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Groups tells which API groups of a domain a request enters, in the order of their definition, by
// trying every item.
func Groups(defs []rule.APIDefinition, domain, host, method, path string) []string {
	var names, others []string
	for _, d := range defs {
		if d.Domain != domain {
			continue
		}
		if slices.ContainsFunc(d.Items, func(it rule.PredicateItem) bool { return item(it, host, method, path) }) {
			names = append(names, d.Name)
		}
		if slices.ContainsFunc(d.Items, func(it rule.PredicateItem) bool { return it.Other }) {
			others = append(others, d.Name)
		}
	}
	if len(names) == 0 {
		return others
	}
	return names
}

func item(it rule.PredicateItem, host, method, path string) bool {
	if it.Other || len(it.Methods) > 0 && !slices.Contains(it.Methods, method) {
		return false
	}
	if suffix, any := strings.CutPrefix(it.Host, "*"); any && suffix != "" {
		if !strings.HasSuffix(host, suffix) || host == suffix {
			return false
		}
	} else if it.Host != "" && it.Host != host {
		return false
	}
	if it.Pattern == "" {
		return true
	}
	if path == "" {
		return false
	}
	switch it.Match {
	case rule.PathExact:
		return it.Pattern == path
	case rule.PathPrefix:
		return Ant(it.Pattern, path)
	}
	return regexp.MustCompile(`\A(?:` + it.Pattern + `)\z`).MatchString(path)
}
