package metrics

import "github.com/sidecard/sidecard/pkg/engine"

// tokens shows the counts of tokens.
func (s scrape) tokens(st engine.TokenStats) {
	s.set(tokens, float64(st.Issued.Load()), "issued")
	s.set(tokens, float64(st.Completed.Load()), "completed")
	s.set(tokens, float64(st.Withdrawn.Load()), "withdrawn")
	s.set(tokens, float64(st.Expired.Load()), "expired")
	s.set(tokens, float64(st.Disconnected.Load()), "disconnected")
	s.set(tokens, float64(st.Foreign.Load()), "foreign")
	s.set(tokens, float64(st.Refused.Load()), "refused")
	s.set(tokens, float64(st.Untold.Load()), "untold")
	s.set(tokensLive, float64(st.Live))
	s.set(tokenBytes, float64(st.Bytes))
	missing := make(map[string]bool, len(st.Domains)) // two names may become one label
	for _, d := range st.Domains {
		missing[label(d.Domain)] = missing[label(d.Domain)] || d.Silent()
	}
	for domain, is := range missing {
		s.set(reportsMissing, truth(is), domain)
	}
}
