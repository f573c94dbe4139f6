package metrics

import "time"

// Certificates is how the certificates of listeners stand.
type Certificates struct {
	Reloads  int64 // changes that took effect
	Failures int64 // changes that did not
	NotAfter time.Time
}

// certificates shows how certificates stand; nothing if there are none.
func (s scrape) certificates(c *Certificates) {
	if c == nil {
		return
	}
	s.set(certReloads, float64(c.Reloads), "success")
	s.set(certReloads, float64(c.Failures), "error")
	s.set(certExpiry, float64(c.NotAfter.Unix()))
}
