package metrics

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The content types of the two text formats.
const (
	OpenMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	PrometheusType  = "text/plain; version=0.0.4; charset=utf-8"
)

// WriteOpenMetrics writes families in the text format of OpenMetrics 1.0. Dots of names become
// underscores, units become suffixes as Prometheus has them, and counters end in _total. Labels
// keep their order.
func WriteOpenMetrics(w io.Writer, families []Family) error {
	t := text{Writer: bufio.NewWriter(w), open: true}
	t.all(families)
	t.put("# EOF\n")
	return t.Flush()
}

// WritePrometheus writes families in Prometheus's text format, version 0.0.4. Names are those of
// WriteOpenMetrics.
func WritePrometheus(w io.Writer, families []Family) error {
	t := text{Writer: bufio.NewWriter(w)}
	t.all(families)
	return t.Flush()
}

// PrometheusName returns the name of a family in Prometheus: suiro.connection.duration in seconds
// is suiro_connection_duration_seconds. Counters end in _total.
func PrometheusName(f *Family) string {
	name := familyName(f)
	if f.Kind == Counter {
		name += "_total"
	}
	return name
}

// LabelName returns the name of a label in Prometheus: characters that it does not allow become
// underscores.
func LabelName(name string) string { return sanitize(name, false) }

// A text writes one of the formats. The Writer keeps the first error.
type text struct {
	*bufio.Writer
	open bool // the format is OpenMetrics
}

func (t *text) put(parts ...string) {
	for _, s := range parts {
		_, _ = t.WriteString(s)
	}
}

func (t *text) all(families []Family) {
	for i := range families {
		if f := &families[i]; len(f.Samples) > 0 {
			t.family(f)
		}
	}
}

func (t *text) family(f *Family) {
	base := familyName(f)
	name := base // in the old format the name of a counter is that of its sample
	if !t.open {
		name = PrometheusName(f)
	}
	t.put("# HELP ", name, " ", t.escapeHelp(f.Help), "\n# TYPE ", name, " ", f.Kind.String(), "\n")
	if unit := unitSuffix(f); t.open && unit != "" {
		t.put("# UNIT ", name, " ", unit, "\n")
	}
	for i := range f.Samples {
		s := &f.Samples[i]
		if f.Kind == Histogram {
			t.histogram(base, s)
			continue
		}
		t.sample(PrometheusName(f), s.Labels, "", s.Value)
	}
}

func (t *text) histogram(name string, s *Sample) {
	d := s.Distribution
	if d == nil {
		return
	}
	sum := uint64(0)
	for i, bound := range d.Bounds {
		sum += d.Counts[i]
		t.sample(name+"_bucket", s.Labels, boundOf(bound), float64(sum))
	}
	t.sample(name+"_bucket", s.Labels, "+Inf", float64(d.Count))
	t.sample(name+"_sum", s.Labels, "", d.Sum)
	t.sample(name+"_count", s.Labels, "", float64(d.Count))
}

// sample writes one line. le is the bound of a bucket, or empty.
func (t *text) sample(name string, labels []Label, le string, value float64) {
	t.put(name)
	if len(labels) > 0 || le != "" {
		mark := "{"
		for _, l := range labels {
			t.put(mark, LabelName(l.Name), `="`, escapeLabel.Replace(l.Value), `"`)
			mark = ","
		}
		if le != "" {
			t.put(mark, `le="`, le, `"`)
		}
		t.put("}")
	}
	t.put(" ", number(value), "\n")
}

var (
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

func (t *text) escapeHelp(s string) string {
	if t.open {
		return escapeLabel.Replace(s)
	}
	return escapeHelp.Replace(s)
}

// number formats a value. Whole numbers have no exponent, so that counts can be read.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case v == math.Trunc(v) && math.Abs(v) < 1<<53:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// boundOf formats the bound of a bucket, as OpenMetrics would have it.
func boundOf(v float64) string {
	s := number(v)
	if !strings.ContainsAny(s, ".eI") {
		s += ".0"
	}
	return s
}

// familyName is the name without _total.
func familyName(f *Family) string {
	name := sanitize(f.Name, true)
	if unit := unitSuffix(f); unit != "" && !strings.HasSuffix(name, "_"+unit) {
		name += "_" + unit
	}
	return name
}

// units are suffixes of Prometheus for units of UCUM. A unit in braces is a note for people.
var units = map[string]string{"s": "seconds", "By": "bytes", "1": "ratio"}

func unitSuffix(f *Family) string {
	if f.Unit == "1" && f.Kind != Gauge {
		return ""
	}
	return units[f.Unit]
}

// sanitize replaces the characters that names may not have.
func sanitize(name string, colon bool) string {
	ok := func(i int, c rune) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || colon && c == ':' || i > 0 && c >= '0' && c <= '9'
	}
	if name == "" {
		return "_"
	}
	if strings.IndexFunc(name, func(c rune) bool { return !ok(1, c) }) < 0 && ok(0, rune(name[0])) {
		return name
	}
	all := []rune(name)
	if !ok(0, all[0]) && ok(1, all[0]) {
		all = slices.Insert(all, 0, '_')
	}
	for i, c := range all {
		if !ok(i, c) {
			all[i] = '_'
		}
	}
	return string(all)
}
