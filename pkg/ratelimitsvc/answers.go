package ratelimitsvc

import (
	"sync"
	"sync/atomic"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// answers keeps the block responses of the rules in force in their cut form. It is safe for
// concurrent use; what it holds is dropped when other rules come into force.
type answers struct {
	fallback *answer // that of the configuration; nil: appendBlockBody
	engine   *engine.Engine
	cut      atomic.Pointer[cutAnswers]
}

// cutAnswers are the answers of one revision. A call that was decided just before the change may add
// one of the revision before, which stays as long as the others.
type cutAnswers struct {
	revision   string
	byResponse sync.Map // *rule.BlockResponse to *answer
}

func newAnswers(e *engine.Engine, fallback *rule.BlockResponse) *answers {
	a := &answers{engine: e}
	if fallback != nil {
		a.fallback = newAnswer(fallback)
	}
	a.cut.Store(new(cutAnswers))
	return a
}

// to returns the answer to a refusal; nil if nothing is configured for it. v may be nil.
func (a *answers) to(v *engine.Verdict) *answer {
	if v == nil || v.Rule == nil || v.Rule.Response == nil {
		return a.fallback
	}
	held := a.held()
	if found, ok := held.byResponse.Load(v.Rule.Response); ok {
		return found.(*answer)
	}
	made, _ := held.byResponse.LoadOrStore(v.Rule.Response, newAnswer(v.Rule.Response))
	return made.(*answer)
}

// held returns the answers of the revision in force.
func (a *answers) held() *cutAnswers {
	held := a.cut.Load()
	if revision := a.engine.Revision(); held.revision != revision {
		a.cut.CompareAndSwap(held, &cutAnswers{revision: revision})
		return a.cut.Load()
	}
	return held
}
