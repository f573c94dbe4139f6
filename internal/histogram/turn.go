package histogram

// OneIn is of how many decisions one is timed. The clock reading that it takes costs more than a rule does,
// and a histogram of some hundred decisions a second has the shape of one of a sixteenth of them.
const OneIn = 16

// Turn picks one in OneIn, the first one last. Whoever decides keeps one with what it reuses decision after
// decision, so that no two processors write to one word for it. The zero value is ready; it is not safe for
// concurrent use.
type Turn uint32

// Next says whether to time the decision at hand.
func (t *Turn) Next() bool {
	*t++
	return *t%OneIn == 0
}
