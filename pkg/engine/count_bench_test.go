package engine

import "testing"

// BenchmarkCount is what it costs a decision over two rules that metrics can be read of it: all that finish counts.
func BenchmarkCount(b *testing.B) {
	uses := make([]use, 2)
	for i := range uses {
		uses[i].rule = &CompiledRule{Counters: new(Counters)}
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range uses {
			uses[i].count(Pass, false)
		}
	}
}
