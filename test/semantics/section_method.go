package main

import "fmt"

// methodSection says how the figures came about, and proves that the daemon gives the same ones.
func methodSection(d *document, l *lab) error {
	whole, byValue := int64(0), int64(0)
	for _, s := range subjects() {
		worst, err := l.search(s)
		if err != nil {
			return err
		}
		n, err := s.behindRules(worst, false)
		if err != nil {
			return err
		}
		whole += n
		if n, err = s.behindRules(worst, true); err != nil {
			return fmt.Errorf("by value: %w", err)
		}
		byValue += n
	}
	d.say(`
## How this page is made

~make semantics~ runs ~test/semantics~, which writes this file and the plots: %d shapes of limits, %s patterns of
arrivals, %s calls, in virtual time, on the windows of ~pkg/window~ that the daemon uses. It stops with an error
where more passes than a bound allows, where a bound is never reached, where a refused request passes earlier or later
than it was told, and where the mean is not the same at a second and at a minute. ~go test ./test/semantics~ does it all
again and compares the result with this file.

The worst arrivals of every shape, and an even overload, were then sent through the whole path of a decision, a rule
file, ~rule.Load~ and ~engine.Decide~: all of %s calls to rules for a whole resource and %s calls to rules for each
value of a header were answered like the bare window, to the nanosecond of the wait and of the time until the next try.
`, len(subjects()), grouped(l.patterns), grouped(l.calls), grouped(whole), grouped(byValue))
	return nil
}
