package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/suiro-go/suiro/bench/figures"
)

// whyFile is where somebody has written why Suiro loses, a section for each workload.
const whyFile = "bench/why.md"

// writeResults writes RESULTS.md, and a plot for each workload.
func writeResults(dir string, rep *report) error {
	why, err := os.ReadFile(filepath.Join(rep.Config.Root, whyFile))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	plots := filepath.Join(dir, "plots")
	if err := os.MkdirAll(plots, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Results\n\nWritten by `" + rep.Config.Command + "`: [README.md](README.md) says what is measured, and how.\n\n")
	writeHead(&b, rep)
	writeTargets(&b, rep)
	for _, load := range rep.Workloads {
		fmt.Fprintf(&b, "\n## %s: %s\n\n", load.Name, load.Title)
		writeTable(&b, rep, load)
		writeMerged(&b, rep, load)
		file := strings.NewReplacer(":", "-", "=", "").Replace(load.Name)
		if picture := plot(rep, load); picture != "" {
			if err := os.WriteFile(filepath.Join(plots, file+".svg"), []byte(picture), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&b, "\n![%s](plots/%s.svg)\n", load.Title, file)
		}
	}
	writeLosses(&b, rep, sections(string(why)))
	writeNotes(&b, rep)
	if err := os.WriteFile(filepath.Join(dir, "RESULTS.md"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	return tellHeadlines(dir, rep)
}

// tellHeadlines adds the run to the history in the directory, and renews README's table of it.
func tellHeadlines(dir string, rep *report) error {
	run := headlinesOf(rep)
	if len(run.Ratios) == 0 { // no workload of the table was measured
		return nil
	}
	file := filepath.Join(dir, "history.json")
	history, err := figures.Load(file)
	if err != nil {
		return err
	}
	history.Add(run)
	if err := history.Save(file); err != nil {
		return err
	}
	readme := filepath.Join(rep.Config.Root, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	renewed, err := figures.Replace(string(text), history.Table())
	if err != nil {
		return err
	}
	return os.WriteFile(readme, []byte(renewed), 0o644)
}

// headlinesOf are the headlines that the run has measured.
func headlinesOf(rep *report) figures.Run {
	e := rep.Environment
	r := figures.Run{Date: e.Date, Commit: e.Commit, CPU: e.CPU, Ratios: map[string]map[string]float64{}}
	for _, h := range figures.Headlines {
		for _, backend := range figures.Backends {
			rs := ratios(pick(rep.Samples, h.Server+"/"+backend, h.Workload), pick(rep.Samples, h.Peer, h.Workload))
			if len(rs) == 0 {
				continue
			}
			if r.Ratios[h.Key()] == nil {
				r.Ratios[h.Key()] = map[string]float64{}
			}
			r.Ratios[h.Key()][backend] = math.Round(1000*spreadOf(rs).median) / 1000
		}
	}
	return r
}

// writeLosses says where a peer was better, and why, if somebody knows. A reason that several
// workloads in a row have stands behind the last of them.
func writeLosses(b *strings.Builder, rep *report, why map[string]string) {
	b.WriteString("\n### Where Suiro loses, and why\n\nOf Suiro's two backends it is the better one that counts here.\n\n")
	var texts, reasons []string
	all := slices.Concat(verdicts(rep, reach), verdicts(rep, further), verdicts(rep, neverStuck))
	for _, load := range rep.Workloads {
		var words []string
		for _, l := range losses(rep, load) {
			words = append(words, fmt.Sprintf("%.2f of %s", l.got.median, l.peer))
		}
		missed := false
		for _, v := range all {
			missed = missed || v.workload.Name == load.Name && !v.reached()
		}
		if len(words) == 0 && !missed {
			continue
		}
		text := strings.Join(words, ", ")
		if len(words) == 0 {
			text = "no peer is ahead by more than 3 %, but a target is not reached"
		}
		texts = append(texts, fmt.Sprintf("**%s**: %s.", load.Name, text))
		name, _, _ := strings.Cut(load.Name, ":")
		reasons = append(reasons, cmp.Or(why[name], "Nobody has written down why."))
	}
	for i, text := range texts {
		b.WriteString("- " + text)
		if i+1 == len(texts) || reasons[i+1] != reasons[i] {
			b.WriteString(" " + reasons[i])
		}
		b.WriteString("\n")
	}
	if len(texts) == 0 {
		b.WriteString("Nowhere by more than 3 %.\n")
	}
}

// sections are the texts below the headings of the second level, by those, each in a line.
func sections(text string) map[string]string {
	found := map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		for _, name := range strings.Fields(strings.ReplaceAll(title, ",", " ")) {
			found[name] = strings.Join(strings.Fields(body), " ")
		}
	}
	return found
}
