package rule

// The words in which rule files write the values of the model, for ids and for views. A number that
// has no word gives an empty one.

// String returns the name that derived ids begin with.
func (k LimitKind) String() string {
	switch k {
	case LimitGateway:
		return "gw-flow"
	case LimitParam:
		return "param-flow"
	case LimitFlow:
		return "flow"
	}
	return ""
}

// String returns the name that resourceMode takes, and regex for ModeRegex.
func (m ResourceMode) String() string {
	if m == ModeRegex {
		return "regex"
	}
	return resourceModes.nameOf(int64(m))
}

// String returns the name that matchStrategy takes in a parameter item.
func (m MatchStrategy) String() string { return matchStrategies.nameOf(int64(m)) }

// String returns the name that matchStrategy takes in a predicate item.
func (m PathMatch) String() string { return pathMatches.nameOf(int64(m)) }

// String returns the name that grade takes.
func (g Grade) String() string {
	switch g {
	case GradeQPS:
		return grades.nameOf(gradeQPS)
	case GradeConcurrency:
		return grades.nameOf(gradeConcurrency)
	}
	return ""
}

// String returns the name that controlBehavior takes.
func (b ControlBehavior) String() string { return controlBehaviors.nameOf(int64(b)) }

// String returns the name that window takes, and none for WindowNone, which no file writes.
func (m WindowMode) String() string {
	if m == WindowNone {
		return "none"
	}
	return windowModes.nameOf(int64(m))
}

// String returns the name that onMissing takes.
func (m OnMissing) String() string { return missingChoices.nameOf(int64(m)) }

// String returns the name that overflow takes.
func (o Overflow) String() string { return overflowChoices.nameOf(int64(o)) }
