package engine

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// beginning is a time of these days that is no whole second.
var beginning = time.Date(2026, 3, 1, 0, 0, 0, 123, time.UTC).UnixNano()

// recorder is a tracker that only notes how its charges end.
type recorder struct {
	concurrencyController
	endings map[uint32][]ending // by what the charge holds
}

func (r *recorder) refund(now int64, g *grant) bool {
	r.end(now, g.held, ending{how: withdrawn})
	return true
}

func (r *recorder) end(_ int64, h hold, e ending) { r.endings[h.n] = append(r.endings[h.n], e) }

// tracked returns a call that charged a rule for each of the leases, and a recorder of their ends,
// by their numbers from 1 on.
func tracked(leases ...time.Duration) (*Call, *recorder) {
	r := &recorder{endings: map[uint32][]ending{}}
	c := &Call{Domain: "sidecard"}
	for i, lease := range leases {
		rule := &CompiledRule{tracker: r, allowance: allowance{ctl: r}, lease: lease, Counters: new(Counters)}
		c.uses = append(c.uses, use{rule: rule, own: &rule.allowance, charged: true})
		c.grants = append(c.grants, grant{held: hold{n: uint32(i + 1)}})
	}
	c.held = len(leases)
	return c, r
}

func TestTokenSlotLayout(t *testing.T) {
	t.Parallel()
	if got := unsafe.Sizeof(tokenSlot{}); got != 112 {
		t.Errorf("a slot takes %d bytes; Options.MaxTokens says 112", got)
	}
}

// TestTokensHoldEveryRule: a token ends each charge of its call, however many they are, once.
func TestTokensHoldEveryRule(t *testing.T) {
	t.Parallel()
	e := New(Options{})
	for n := 1; n <= 9; n++ {
		c, r := tracked(make([]time.Duration, n)...)
		e.issue(beginning, c)
		if c.Token == (Token{}) || e.tokens.slots != int64(n+1)/2 {
			t.Fatalf("%d charges: token %v, %d slots", n, c.Token, e.tokens.slots)
		}
		for i := range c.uses {
			if c.uses[i].charged {
				t.Fatalf("%d charges: the call still has charge %d", n, i)
			}
		}
		if !e.Complete(beginning+7, c.Token, Outcome{Error: n%2 == 0}) || e.Complete(beginning+8, c.Token, Outcome{}) {
			t.Fatalf("%d charges: not completed once", n)
		}
		want := ending{how: how(1 - n%2), rt: 7}
		for i := 1; i <= n; i++ {
			if got := r.endings[uint32(i)]; len(got) != 1 || got[0] != want {
				t.Errorf("%d charges: %d ended as %+v, want once %+v", n, i, got, want)
			}
		}
		if e.tokens.slots != 0 || e.tokens.live != 0 {
			t.Fatalf("%d charges: %d slots and %d tokens are left", n, e.tokens.slots, e.tokens.live)
		}
	}
}

// TestEndings: what rules are told of each way in which a call can end.
func TestEndings(t *testing.T) {
	t.Parallel()
	const lease, wait = 5 * time.Second, 300 * time.Millisecond
	tests := []struct {
		name string
		end  func(e *Engine, c *Call) int
		want ending
	}{
		{"completed", func(e *Engine, c *Call) int {
			return count(e.Complete(beginning+int64(wait)+20, c.Token, Outcome{}))
		}, ending{succeeded, 20}},
		{"failed", func(e *Engine, c *Call) int {
			return count(e.Complete(beginning+int64(wait)+20, c.Token, Outcome{Error: true}))
		}, ending{failed, 20}},
		{"with a time of its own", func(e *Engine, c *Call) int {
			return count(e.Complete(beginning+int64(wait)+20, c.Token, Outcome{RT: 9}))
		}, ending{succeeded, 9}},
		{"by a clock that is late", func(e *Engine, c *Call) int {
			return count(e.Complete(beginning-5, c.Token, Outcome{}))
		}, ending{succeeded, 0}},
		{"withdrawn", func(e *Engine, c *Call) int { e.Cancel(beginning, c); return 1 }, ending{how: withdrawn}},
		{"disconnected", func(e *Engine, c *Call) int { return e.EndPeer(beginning, 7) }, ending{how: lost}},
		{"expired", func(e *Engine, c *Call) int {
			if e.Expire(beginning+int64(wait+lease)) != 0 {
				t.Error("the lease ended too soon")
			}
			return e.Expire(beginning + int64(wait+lease) + int64(time.Second))
		}, ending{how: lost}},
	}
	for _, tt := range tests {
		e := New(Options{})
		c, r := tracked(lease)
		c.Peer, c.Wait = 7, wait
		e.issue(beginning, c)
		token := c.Token
		if n := tt.end(e, c); n != 1 {
			t.Errorf("%s: %d calls ended", tt.name, n)
		}
		if got := r.endings[1]; len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %+v, want once %+v", tt.name, got, tt.want)
		}
		e.Cancel(beginning, c)
		if e.Complete(beginning, token, Outcome{}) || e.EndPeer(beginning, 7) != 0 || e.Expire(beginning+int64(time.Hour)) != 0 {
			t.Errorf("%s: ended again", tt.name)
		}
		if len(r.endings[1]) != 1 {
			t.Errorf("%s: the rule is told again", tt.name)
		}
	}
}

func count(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// TestForeignTokens: what was not issued, or was changed, ends nothing.
func TestForeignTokens(t *testing.T) {
	t.Parallel()
	e := New(Options{MaxTokens: 1})
	c, r := tracked(time.Second, time.Second, time.Second)
	e.issue(beginning, c)
	rapid.Check(t, func(t *rapid.T) {
		forged := Token{rapid.Uint64().Draw(t, "place"), rapid.Uint64().Draw(t, "secret")}
		switch rapid.IntRange(0, 3).Draw(t, "kept") {
		case 3: // all but the generation
			forged = Token{c.Token.place + rapid.Uint64Range(1, 9).Draw(t, "later"), c.Token.secret}
		case 0:
			forged.place = c.Token.place
		case 1:
			forged.secret = c.Token.secret
		}
		if forged != c.Token && e.Complete(beginning, forged, Outcome{}) {
			t.Fatalf("%v is accepted, %v was issued", forged, c.Token)
		}
	})
	// The second slot of the call has no secret of its own.
	if e.Complete(beginning, Token{place: 0}, Outcome{}) || len(r.endings) != 0 {
		t.Error("a slot without a secret was taken for a token")
	}
	if !e.Complete(beginning, c.Token, Outcome{}) {
		t.Error("the token itself is refused")
	}
}

// TestTokensGrowAndShrink: memory follows the calls under way up to the bound, and goes back.
func TestTokensGrowAndShrink(t *testing.T) {
	t.Parallel()
	e := New(Options{MaxTokens: 3000}) // three chunks
	var calls []*Call
	for {
		c, _ := tracked(time.Minute)
		if e.issue(beginning, c); c.Overall == Block {
			break
		}
		calls = append(calls, c)
	}
	chunk := int64(unsafe.Sizeof(tokenChunk{}))
	if len(calls) != 3*tokenChunkSlots || e.Tokens().Bytes != 3*chunk || e.Tokens().Refused.Load() != 1 {
		t.Fatalf("%d tokens in %d bytes, %d refused", len(calls), e.Tokens().Bytes, e.Tokens().Refused.Load())
	}
	for _, c := range calls[1:] {
		e.Complete(beginning, c.Token, Outcome{})
	}
	if e.Maintain(beginning); e.Tokens().Bytes != chunk {
		t.Errorf("%d bytes for one token", e.Tokens().Bytes)
	}
	if !e.Complete(beginning, calls[0].Token, Outcome{}) {
		t.Error("the first token has gone with the memory")
	}
	for i := range 2 * tokenChunkSlots {
		c, _ := tracked(time.Minute)
		if e.issue(beginning, c); c.Token == (Token{}) {
			t.Fatalf("no room for token %d after memory was given back", i)
		}
	}
}

// TestNoRoomForAToken: a call that can get no token is refused by the rules that need one, and what
// it has charged is given back; a rule in shadow refuses nothing.
func TestNoRoomForAToken(t *testing.T) {
	t.Parallel()
	for _, shadow := range []bool{false, true} {
		e := New(Options{MaxTokens: 1})
		for range tokenChunkSlots {
			c, _ := tracked(time.Minute)
			e.issue(beginning, c)
		}
		c, r := tracked(time.Minute)
		c.uses[0].rule.Shadow = shadow
		e.issue(beginning, c)
		want := Block
		if shadow {
			want = Pass
		}
		if c.Overall != want || c.Token != (Token{}) || c.uses[0].charged {
			t.Errorf("shadow %v: %v, token %v", shadow, c.Overall, c.Token)
		}
		if !shadow && (c.uses[0].reason != ReasonTooManyCalls || !c.uses[0].refused) {
			t.Errorf("%+v", c.uses[0])
		}
		if len(r.endings[1]) != 1 || r.endings[1][0].how != withdrawn {
			t.Errorf("shadow %v: the charge ended as %+v", shadow, r.endings[1])
		}
	}
}

// TestLeases compares the tokens that expire with a list of them.
func TestLeases(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := New(Options{})
		type lent struct {
			c   *Call
			due int64 // second
		}
		var all []lent
		now := beginning + rapid.Int64Range(0, 1<<20).Draw(t, "start")*int64(time.Second)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"issue", "issue", "issue", "complete", "expire", "expire"}).Draw(t, "op") {
			case "issue":
				lease := time.Duration(rapid.OneOf(rapid.Int64Range(1, 200), rapid.Int64Range(1000, 86_400_000)).Draw(t, "ms")) * time.Millisecond
				c, _ := tracked(lease, lease/2)
				c.Wait = time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "wait"))
				e.issue(now, c)
				end := now + int64(c.Wait+lease)
				all = append(all, lent{c, (end + int64(time.Second) - 1) / int64(time.Second)})
			case "complete":
				if len(all) > 0 {
					i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
					if !e.Complete(now, all[i].c.Token, Outcome{}) {
						t.Fatalf("a token is not there before its time")
					}
					all = append(all[:i], all[i+1:]...)
				}
			case "expire":
				now += rapid.OneOf(rapid.Int64Range(0, int64(3*time.Second)), rapid.Int64Range(0, int64(30*time.Hour))).Draw(t, "passes")
				want := 0
				var left []lent
				for _, one := range all {
					if one.due <= now/int64(time.Second) {
						want++
					} else {
						left = append(left, one)
					}
				}
				all = left
				if got := e.Expire(now); got != want {
					t.Fatalf("%d expire, want %d", got, want)
				}
			}
			if e.Tokens().Live != int64(len(all)) {
				t.Fatalf("%d live, want %d", e.Tokens().Live, len(all))
			}
		}
		for i := range all {
			if !e.Complete(now, all[i].c.Token, Outcome{}) {
				t.Fatal("a token has been lost")
			}
		}
	})
}

func TestTokenDomains(t *testing.T) {
	t.Parallel()
	e := New(Options{})
	for i := range maxTokenDomains + 10 {
		for n := range 3 {
			c, _ := tracked(time.Second)
			c.Domain = fmt.Sprint("domain-", i)
			if e.issue(beginning, c); n == 0 {
				e.Complete(beginning, c.Token, Outcome{})
			}
		}
	}
	e.Expire(beginning + int64(time.Minute))
	domains := e.Tokens().Domains
	if len(domains) != maxTokenDomains+1 {
		t.Fatalf("%d domains", len(domains))
	}
	for _, d := range domains {
		want := DomainOutcomes{d.Domain, 1, 2}
		if d.Domain == OtherDomains {
			want = DomainOutcomes{d.Domain, 10, 20}
		}
		if d != want {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
}
