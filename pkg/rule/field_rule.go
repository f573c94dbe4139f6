package rule

// Fields that rules of several kinds have, with the same meaning.

func modeField[T any](into func(*T) *located[int64]) field[T] {
	return enumField("resourceMode", "what `resource` names", resourceModes, int64(ModeRoute), into)
}

func leaseField[T any](doc string, into func(*T) *located[int64]) field[T] {
	return integerField("leaseMs", doc, minLeaseMs, maxLeaseMs, defaultLeaseMs, into).in("ms").extension()
}

func responseField[T any](into func(*T) *located[*responseDraft]) field[T] {
	return mappingField("blockResponse", "what a refused request is answered with", &responseSchema, into).extension()
}

func shadowField[T any](into func(*T) *located[bool]) field[T] {
	return boolField("shadow", "only count what would be refused", into).extension()
}

// gradeField and the rest are of rules that limit.
func gradeField() field[limitDraft] {
	return enumField("grade", "what is limited: requests per interval, or those under way", grades, gradeQPS,
		func(d *limitDraft) *located[int64] { return &d.grade })
}

func countField(doc string) field[limitDraft] {
	return amountField("count", doc, "", "write 0 to block everything",
		func(d *limitDraft) *located[amount] { return &d.count }).require().in("requests").
		sentinel("cut to a whole number: 2.5 acts as 2, and 0.5 blocks everything").
		here("exact: 2.5 per 1 s is 5 per 2 s. Above 2147483647 it means unlimited, and `check` says so")
}

func intervalField(name string) field[limitDraft] {
	return integerField(name, "the interval", 1, maxIntervalSec, 1,
		func(d *limitDraft) *located[int64] { return &d.intervalSec }).in("s")
}

func burstField(name, doc string) field[limitDraft] {
	return integerField(name, doc, 0, 1<<31-1, 0,
		func(d *limitDraft) *located[int64] { return &d.burst }).in("requests")
}

func queueingField(name, doc string, def int64) field[limitDraft] {
	return integerField(name, doc+"; means nothing without queueing", 0, 1<<31-1, def,
		func(d *limitDraft) *located[int64] { return &d.maxQueueing }).in("ms")
}

func windowField() field[limitDraft] {
	return enumField("window", "how the limit holds over time", windowModes, int64(WindowAligned),
		func(d *limitDraft) *located[int64] { return &d.window }).extension()
}

func sampleCountField(doc string, def int64) field[limitDraft] {
	return integerField("sampleCount", doc, 1, maxSampleCount, def,
		func(d *limitDraft) *located[int64] { return &d.sampleCount }).in("slots").extension()
}

func maxKeysField() field[limitDraft] {
	return integerField("maxKeys", "most parameter values tracked at a time", 1, maxMaxKeys, defaultMaxKeys,
		func(d *limitDraft) *located[int64] { return &d.maxKeys }).in("values").
		sentinel("4000 for each second of the interval, at most 200000, the same for all rules")
}

func overflowField() field[limitDraft] {
	return enumField("overflow", "what happens to values beyond `maxKeys`: count them together, let them pass, or refuse them", overflowChoices, int64(OverflowSketch),
		func(d *limitDraft) *located[int64] { return &d.overflow }).
		sentinel("forgets the value not used for longest, which then has its whole budget again")
}

func clusterField() field[limitDraft] {
	return customField("clusterMode", "shared limits", typeFalse, decodeClusterMode).
		sentinel("a token server counts for all; without one the rule is not there").here("refused: each sidecard counts for itself")
}
