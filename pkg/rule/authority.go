package rule

import (
	"fmt"
	"slices"
	"strings"
)

// AuthorityStrategy says what the origins of an authority rule are. The numbers are Sentinel's.
type AuthorityStrategy uint8

// The strategies of authority rules.
const (
	AuthorityWhite AuthorityStrategy = 0 // only their requests pass
	AuthorityBlack AuthorityStrategy = 1 // their requests are refused
)

// String returns the name that strategy takes.
func (s AuthorityStrategy) String() string { return authorityStrategies.nameOf(int64(s)) }

var authorityStrategies = &enumeration{members: []enumMember{
	{name: "white", number: int64(AuthorityWhite)},
	{name: "black", number: int64(AuthorityBlack)},
}}

// AuthorityRule is one accepted rule of an authority-rules file: who may use a resource.
type AuthorityRule struct {
	Pos       Position
	Domain    string // the domain its file claims; empty: every domain that no file claims
	ID        string // as written, or derived; unique in its domain and safe inside a header
	DerivedID bool
	Resource  string
	Mode      ResourceMode // ModeRoute or ModeAPI

	Strategy  AuthorityStrategy
	Origins   []string  // in order, each once, at least one; compared exactly
	OnMissing OnMissing // MissingSkip: what has no origin passes, as in Sentinel; or MissingBlock

	Response *BlockResponse // what a refused request is answered with; nil: what the daemon answers anyway
	Shadow   bool
}

// authorityDraft is an authority rule as written.
type authorityDraft struct {
	id, resource, limitApp located[string]
	mode, strategy         located[int64]
	onMissing              located[int64]
	response               located[*responseDraft]
	shadow                 located[bool]
}

// maxOriginsBytes bounds a list of origins.
const maxOriginsBytes = 64 << 10

var authoritySchema = schema[authorityDraft]{what: "an authority rule", fields: append(
	[]field[authorityDraft]{
		idField(func(d *authorityDraft) *located[string] { return &d.id }),
		textField("resource", "the route id, or the name of an API group", maxNameBytes,
			func(d *authorityDraft) *located[string] { return &d.resource }).require().sentinel(alike),
		modeField(func(d *authorityDraft) *located[int64] { return &d.mode }).extension(),
		textField("limitApp", "the origins, with commas between them", maxOriginsBytes,
			func(d *authorityDraft) *located[string] { return &d.limitApp }).require().
			sentinel("spaces are part of the names").here("spaces around the names are left out, with a warning"),
		enumField("strategy", "white: only requests of these origins pass; black: theirs are refused", authorityStrategies, int64(AuthorityWhite),
			func(d *authorityDraft) *located[int64] { return &d.strategy }).sentinel(alike),
		enumField("onMissing", "what happens to requests without an origin", originChoices, int64(MissingSkip),
			func(d *authorityDraft) *located[int64] { return &d.onMissing }).sentinel("they pass, a white list too").here("the same by default, with a warning"),
		responseField(func(d *authorityDraft) *located[*responseDraft] { return &d.response }),
		shadowField(func(d *authorityDraft) *located[bool] { return &d.shadow }),

		customField("regex", "`resource` is a regular expression", typeFalse, decodeResourceRegex[authorityDraft]).
			sentinel("for all resources that match").here("refused"),
		recordField[authorityDraft](),
	},
	ignoredFields[authorityDraft]("app", "ip", "port", "gmtCreate", "gmtModified")...,
), mistaken: map[string]string{"origin": "limitApp", "origins": "limitApp", "apps": "limitApp"}}

// authority reads one authority rule and adds it to the set if nothing is wrong with it.
func (f *fileLoad) authority(at spot, n *node) {
	before := f.errors
	var d authorityDraft
	if !decodeMapping(f, &authoritySchema, at, n, &d) {
		return
	}
	r := AuthorityRule{
		Pos:       f.position(at),
		Domain:    f.domain,
		ID:        d.id.v,
		Resource:  d.resource.v,
		Mode:      ResourceMode(d.mode.v),
		Strategy:  AuthorityStrategy(d.strategy.v),
		OnMissing: OnMissing(d.onMissing.v),
		Shadow:    d.shadow.v || f.options.Shadow,
	}
	if d.resource.ok {
		f.checkPlainResource(d.resource.at, r.Mode, r.Resource)
	}
	if d.limitApp.ok {
		r.Origins = f.origins(d.limitApp.at, d.limitApp.v)
	}
	if d.onMissing.ok && r.OnMissing == MissingLimit {
		f.fail(d.onMissing.at, "limit is for parameters", "write skip or block")
	}
	if d.response.given && d.response.ok {
		r.Response = f.checkResponse(d.response.at, d.response.v, f.errors == before)
	}
	if f.errors > before {
		return
	}
	if r.Strategy == AuthorityWhite && r.OnMissing == MissingSkip {
		f.warn(at, "requests without an origin pass this white list, as in Sentinel", `write onMissing "block" to refuse them`)
	}
	if !d.id.given {
		r.ID, r.DerivedID = deriveAuthorityID(&r), true
	}
	if f.claimID(at, &d.id, r.ID, "says who may use") {
		f.set.Authority = append(f.set.Authority, r)
	}
}

// origins cuts a list of origins. Sentinel keeps the spaces around them, so that an origin behind ", " is
// never met; here they are no part of it.
func (f *fileLoad) origins(at spot, list string) []string {
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		origin := strings.TrimSpace(item)
		if origin == "" {
			f.fail(at, fmt.Sprintf("%q holds an empty name", clip(list)), "write names with commas between them")
			return nil
		}
		if !f.checkName(at, origin) {
			return nil
		}
		if origin != item {
			f.warn(at, fmt.Sprintf("the spaces around %q are left out; Sentinel would take them for part of the name", clip(origin)), "")
		}
		out = append(out, origin)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// deriveAuthorityID names a rule by its resource: [domain/]authority/mode/resource. Sentinel too knows only one
// for each.
func deriveAuthorityID(r *AuthorityRule) string {
	id := "authority/" + r.Mode.String() + "/" + escapeID(r.Resource)
	if r.Domain != "" {
		id = escapeID(r.Domain) + "/" + id
	}
	return fitID(id)
}
