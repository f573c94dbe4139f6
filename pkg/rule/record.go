package rule

import "fmt"

// recordField is where Sentinel's dashboard keeps the rule of a record, if it keeps it
// apart. That it holds a rule is told of the whole record, whose other fields then mean nothing.
func recordField[T any]() field[T] {
	fd := refusedField[T]("rule", "the record that Sentinel's dashboard keeps of a rule")
	fd.decode = func(f *fileLoad, at spot, n *node, _ *T) {
		f.fail(at, fmt.Sprintf("is %s, not a rule", n.kind), "remove it")
	}
	return fd
}

// recorded returns what holds the rule of an item that is a record; nil if it is none. The dashboard keeps records of
// these two kinds; of all others it writes the fields beside those of the record.
func (k kind) recorded(item *node) *member {
	if k != kindParamFlow && k != kindAuthority {
		return nil
	}
	for i := range item.members {
		if m := &item.members[i]; m.name == "rule" && m.value.kind == mappingNode {
			return m
		}
	}
	return nil
}
