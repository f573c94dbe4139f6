package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// metric is a column of the tables.
type metric struct {
	title  string
	unit   string
	format string
	of     func(sample) float64
}

var (
	cpu  = metric{"CPU", " µs", "%.1f", func(s sample) float64 { return s.cpu }}
	rate = metric{"calls/s", "", "%.0f", func(s sample) float64 { return s.rate }}
	p50  = metric{"p50", " µs", "%.0f", func(s sample) float64 { return s.p50 }}
	p99  = metric{"p99", " µs", "%.0f", func(s sample) float64 { return s.p99 }}
	p999 = metric{"p99.9", " µs", "%.0f", func(s sample) float64 { return s.p999 }}

	metrics = []metric{cpu, rate, p50, p99, p999}
)

func printHeader(w io.Writer, subjects [2]subject, c cores, o options) error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return os.NewSyscallError("uname", err)
	}
	fmt.Fprintf(w, "%s, Linux %s, %s.\n", cpuModel(), unix.ByteSliceToString(u.Release[:]), time.Now().UTC().Format("2006-01-02 15:04 MST"))
	for _, s := range subjects {
		fmt.Fprintf(w, "%s: %s, grpc-go %s.\n", s.name, s.build, s.grpc)
	}
	_, err := fmt.Fprintf(w, "Servers on core %d with GOMAXPROCS=1, client on core %d; %d rounds of %v, %d keys. Median (least-most).\n",
		c.server, c.client, o.rounds, o.duration, o.keys)
	return err
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	_, rest, _ := strings.Cut(string(b), "model name\t: ")
	model, _, _ := strings.Cut(rest, "\n")
	return model
}

// printLoads shows what each server did under each load.
func printLoads(w io.Writer, subjects [2]subject, rows []row, runs [][2][]sample) {
	header := []string{"load", "server"}
	for _, m := range metrics {
		header = append(header, m.title+m.unit)
	}
	printRow(w, "\n", header)
	printRow(w, "", slices.Repeat([]string{"---"}, len(header)))
	for i, r := range rows {
		for j, s := range subjects {
			line := []string{r.name + ": " + r.title, s.name}
			for _, m := range metrics {
				line = append(line, spread(m.format, column(runs[i][j], m.of)))
			}
			printRow(w, "", line)
		}
	}
}

// printRatios shows the first server as a share of the second. The two of a ratio were measured
// within seconds, so a machine that slows down over minutes does not disturb it.
func printRatios(w io.Writer, subjects [2]subject, rows []row, runs [][2][]sample) {
	header := []string{subjects[0].name + " / " + subjects[1].name}
	for _, m := range metrics {
		header = append(header, m.title)
	}
	printRow(w, "\n", append(header, "CPU lower in"))
	printRow(w, "", slices.Repeat([]string{"---"}, len(header)+1))
	for i, r := range rows {
		line := []string{r.name}
		for _, m := range metrics {
			line = append(line, spread("%.2f", ratios(runs[i], m.of)))
		}
		lower := 0
		shares := ratios(runs[i], cpu.of)
		for _, q := range shares {
			if q < 1 {
				lower++
			}
		}
		printRow(w, "", append(line, fmt.Sprintf("%d of %d", lower, len(shares))))
	}
}

func printSide(w io.Writer, subjects [2]subject, m *sides) {
	printRow(w, "\n", []string{"", subjects[0].name, subjects[1].name})
	printRow(w, "", slices.Repeat([]string{"---"}, 3))
	printRow(w, "", []string{"start to first answer, ms", spread("%.0f", m.start[0]), spread("%.0f", m.start[1])})
	printRow(w, "", []string{fmt.Sprintf("the same with %d more rules, ms", otherRules),
		spread("%.0f", m.startFull[0]), spread("%.0f", m.startFull[1])})
	printRow(w, "", []string{"rule file renamed to first answer by it, ms", spread("%.0f", m.swap[0]), spread("%.0f", m.swap[1])})
	memory := func(title string, mib [2]float64) {
		printRow(w, "", []string{title, fmt.Sprintf("%.1f", mib[0]), fmt.Sprintf("%.1f", mib[1])})
	}
	memory("resident after the first answer, MiB", m.idle)
	printRow(w, "", []string{"resident after all loads, MiB", spread("%.1f", m.loaded[0]), spread("%.1f", m.loaded[1])})
	if m.fill > 0 {
		memory(fmt.Sprintf("resident with %d live keys in one rule, MiB", m.fill), m.filled)
		printRow(w, "", []string{"keys of these that found no room", fmt.Sprint(m.noRoom[0]), fmt.Sprint(m.noRoom[1])})
	}
}

func printRow(w io.Writer, before string, cells []string) {
	fmt.Fprintf(w, "%s| %s |\n", before, strings.Join(cells, " | "))
}

func column(runs []sample, of func(sample) float64) []float64 {
	values := make([]float64, len(runs))
	for i, s := range runs {
		values[i] = of(s)
	}
	return values
}

// ratios divides within each round.
func ratios(runs [2][]sample, of func(sample) float64) []float64 {
	return divide(column(runs[0], of), column(runs[1], of))
}

func divide(a, b []float64) []float64 {
	values := make([]float64, len(a))
	for i := range values {
		values[i] = a[i] / b[i]
	}
	return values
}

// spread writes the median with the least and the greatest value; a dash for none.
func spread(format string, values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	return fmt.Sprintf(format+" ("+format+"-"+format+")", median(values), slices.Min(values), slices.Max(values))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
