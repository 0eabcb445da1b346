package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A verdict says of a target whether it was reached.
type verdict struct {
	target
	workload workload
	rows     []standing // whose target it is
	beside   []standing
	missing  string // why it cannot be said, or ""
}

// A standing is a contender's ratio to the one that a target is against.
type standing struct {
	name string
	got  spread
}

// best is the better one of some, or nil.
func best(of []standing, more bool) (b *standing) {
	for i := range of {
		if b == nil || more == (of[i].got.median > b.got.median) {
			b = &of[i]
		}
	}
	return b
}

func (v verdict) reached() bool {
	if v.missing != "" {
		return false
	}
	b := best(v.rows, v.more())
	if v.more() {
		return b.got.median >= v.limit
	}
	return b.got.median <= v.limit
}

// more reports whether more is better.
func (v verdict) more() bool {
	if v.aspect != nil {
		return v.aspect.more
	}
	return v.workload.more
}

func (v verdict) unit() string {
	if v.aspect != nil {
		return v.aspect.unit
	}
	return v.workload.Unit
}

// got are the ratios of runs to those that the target is against, or the values.
func (t target) got(own, base []sample) []float64 {
	of := figure
	if t.aspect != nil {
		of = t.aspect.of
	}
	if t.against == "" {
		return values(own, of)
	}
	return ratiosOf(own, base, of)
}

// verdicts are those on the targets whose workload was run, with the contender that they are
// against.
func verdicts(rep *report, targets []target) (all []verdict) {
	for _, t := range targets {
		i := slices.IndexFunc(rep.Workloads, func(w workload) bool { return w.Name == t.workload })
		if i < 0 || t.against != "" && !slices.Contains(contendersOf(rep.Config, rep.Workloads[i]), t.against) {
			continue
		}
		v := verdict{target: t, workload: rep.Workloads[i]}
		base := pick(rep.Samples, t.against, t.workload)
		asked := false
		for _, name := range contendersOf(rep.Config, v.workload) {
			own, beside := strings.HasPrefix(name, t.own), t.beside != "" && strings.HasPrefix(name, t.beside)
			asked = asked || own
			rs := t.got(pick(rep.Samples, name, t.workload), base)
			switch {
			case len(rs) == 0:
			case own:
				v.rows = append(v.rows, standing{name, spreadOf(rs)})
			case beside:
				v.beside = append(v.beside, standing{name, spreadOf(rs)})
			}
		}
		if !asked {
			continue
		}
		if t.against != "" && len(base) == 0 {
			v.missing = t.against + " is missing, or failed"
		} else if len(v.rows) == 0 {
			v.missing = t.own + "* is missing, or failed"
		}
		all = append(all, v)
	}
	return all
}

// standings are some in a cell.
func standings(of []standing) string {
	var texts []string
	for _, s := range of {
		texts = append(texts, s.name+" "+number(s.got.median))
	}
	if len(texts) == 0 {
		return "–"
	}
	return strings.Join(texts, ", ")
}

func writeReach(w io.Writer, title, words string, all []verdict) {
	if len(all) == 0 {
		return
	}
	reached := 0
	for _, v := range all {
		if v.reached() {
			reached++
		}
	}
	fmt.Fprintf(w, "\n## %s: %d of %d\n\n", title, reached, len(all))
	if words != "" {
		fmt.Fprintf(w, "%s\n\n", words)
	}
	line(w, []string{"workload", "figure", "against", "target", "reached", "the better backend", "both", "beside them"})
	line(w, []string{":--", ":--", ":--", "--:", ":--", ":--", ":--", ":--"})
	for _, v := range all {
		sign, yes := "≤", "**no**"
		if v.more() {
			sign = "≥"
		}
		if v.reached() {
			yes = "yes"
		}
		cells := []string{v.workload.Name, v.unit(), cmp.Or(v.against, "–"), fmt.Sprintf("%s %g", sign, v.limit), yes}
		if v.missing != "" {
			line(w, append(cells, "not measured: "+v.missing, "–", "–"))
			continue
		}
		b := best(v.rows, v.more()).got
		line(w, append(cells, fmt.Sprintf("%s (%s–%s)", number(b.median), number(b.least), number(b.most)), standings(v.rows), standings(v.beside)))
	}
}

// writeTargets has the promised targets, then the others.
func writeTargets(w io.Writer, rep *report) {
	writeReach(w, "Targets reached", "Ratios to the contender in the third column, medians of paired rounds (least–most). Of HTTP what counts is suiro-raw, which runs the "+
		"handler that the peers, C's too, run, and which parses as little as they do; beside it is `examples/http`, which parses and checks each request.", verdicts(rep, reach))
	writeReach(w, "Further targets", "", verdicts(rep, further))
	writeReach(w, "Beside handlers that burn or block", "Ratios where the third column has a contender, else values. They are of the other connections' "+
		"messages, but for the throughput of the slow ones.", verdicts(rep, neverStuck))
}
