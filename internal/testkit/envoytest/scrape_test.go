package envoytest

import "testing"

func TestEnvoyCounter(t *testing.T) {
	t.Parallel()
	const stats = "cluster.app.ratelimit.error: 0\ncluster.app.ratelimit.ok: 17\n"
	if got, err := EnvoyCounter(stats, "cluster.app.ratelimit.ok"); err != nil || got != 17 {
		t.Errorf("got %d, %v", got, err)
	}
	if got, err := EnvoyCounter(stats, "cluster.app.ratelimit.o"); err != nil || got != 0 {
		t.Errorf("by half a name: got %d, %v", got, err)
	}
	if _, err := EnvoyCounter("a: many", "a"); err == nil {
		t.Error("took a word for a number")
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	const text = `# HELP a_total Things.
# TYPE a_total counter
a_total{rule="x",outcome="pass"} 3
a_total{rule="x",outcome="block"} 1.5e+02
a_total_more 9
plain 4
`
	for _, c := range []struct {
		name   string
		labels []string
		found  string
		want   float64
	}{
		{"a_total", []string{`outcome="block"`}, `{rule="x",outcome="block"}`, 150},
		{"a_total", nil, `{rule="x",outcome="pass"}`, 3},
		{"plain", nil, "", 4},
	} {
		if found, got, err := Sample(text, c.name, c.labels...); err != nil || got != c.want || found != c.found {
			t.Errorf("%s %v: got %s %v, %v", c.name, c.labels, found, got, err)
		}
	}
	for _, absent := range []string{"a_tota", "b"} {
		if _, _, err := Sample(text, absent); err == nil {
			t.Errorf("found %s", absent)
		}
	}
	if _, _, err := Sample(text, "a_total", `outcome="wait"`); err == nil {
		t.Error("found an absent label")
	}
}
