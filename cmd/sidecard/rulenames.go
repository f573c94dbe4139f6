package main

import "github.com/sidecard/sidecard/pkg/rule"

// The words of rule files for what a rule holds as numbers. A number without a word is a fault of
// this file and shows as such.

const unnamed = "?"

func modeName(m rule.ResourceMode) string {
	switch m {
	case rule.ModeRoute:
		return "route"
	case rule.ModeAPI:
		return "api"
	}
	return unnamed
}

func windowName(m rule.WindowMode) string {
	switch m {
	case rule.WindowAligned:
		return "aligned"
	case rule.WindowStrict:
		return "strict"
	case rule.WindowTokenBucket:
		return "token-bucket"
	case rule.WindowNone:
		return "-"
	}
	return unnamed
}

func onMissingName(o rule.OnMissing) string {
	switch o {
	case rule.MissingSkip:
		return "skip"
	case rule.MissingLimit:
		return "limit"
	case rule.MissingBlock:
		return "block"
	}
	return unnamed
}

func overflowName(o rule.Overflow) string {
	switch o {
	case rule.OverflowSketch:
		return "sketch"
	case rule.OverflowBlock:
		return "block"
	case rule.OverflowAllow:
		return "allow"
	}
	return unnamed
}

func sourceName(s rule.ParamSource) string {
	switch s {
	case rule.SourceClientIP:
		return "client_ip"
	case rule.SourceHost:
		return "host"
	case rule.SourceHeader:
		return "header"
	case rule.SourceURLParam:
		return "url_param"
	case rule.SourceCookie:
		return "cookie"
	}
	return unnamed
}

func matchName(m rule.MatchStrategy) string {
	switch m {
	case rule.MatchExact:
		return "exact"
	case rule.MatchPrefix:
		return "prefix"
	case rule.MatchRegex:
		return "regex"
	case rule.MatchContains:
		return "contains"
	}
	return unnamed
}
