package metrics

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Scrapes while calls are decided and rules come and go: no counter that is there twice in a row has gone
// down, and no scrape fails.
func TestScrapesUnderLoad(t *testing.T) {
	t.Parallel()
	const both = `{"gatewayFlowRules": [{"id": "a", "resource": "a", "count": 5}, {"id": "b", "resource": "b", "count": 5, "controlBehavior": 2}]}`
	const one = `{"gatewayFlowRules": [{"id": "a", "resource": "a", "count": 5}]}`
	e := newEngine(t, both)
	m := New(sourcesOf(e.Rules))
	m.Applied("0", applied)
	stop := make(chan struct{})
	var load sync.WaitGroup
	for _, resource := range []string{"a", "b"} {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					ask(e, resource)
				}
			}
		})
	}
	var scrapers sync.WaitGroup
	for range 3 {
		scrapers.Go(func() {
			last := make(map[string]float64)
			for range 20 {
				for _, l := range scraped(t, m) {
					series, value, _ := cutLast(l)
					v, err := strconv.ParseFloat(value, 64)
					if err != nil {
						t.Errorf("%s: %v", l, err)
					}
					if strings.Contains(series, "_total") && v < last[series] {
						t.Errorf("%s went from %v to %v", series, last[series], v)
					}
					last[series] = v
				}
			}
		})
	}
	for i := range 100 {
		apply(t, e, []string{one, both}[i%2])
		m.Applied(strconv.Itoa(i), applied)
	}
	scrapers.Wait()
	close(stop)
	load.Wait()
	lines := scraped(t, m)
	sum := func(rule string) (n float64) {
		for _, l := range of(lines, "decisions_total") {
			if series, value, _ := cutLast(l); strings.Contains(series, `rule="`+rule+`"`) {
				v, _ := strconv.ParseFloat(value, 64)
				n += v
			}
		}
		return n
	}
	if sum("a") == 0 || sum("b") == 0 || !slices.Contains(lines, "sidecard_rules 2") {
		t.Errorf("got %v and %v decisions", sum("a"), sum("b"))
	}
}

// cutLast cuts a line of a scrape into its series and its value.
func cutLast(line string) (series, value string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return line, "", false
	}
	return line[:i], line[i+1:], true
}

// applied is when rules come into force in these tests.
var applied = time.Unix(0, now)
