package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	return os.WriteFile(filepath.Join(dir, "RESULTS.md"), []byte(b.String()), 0o644)
}

// writeLosses says where a peer was better, and why, if somebody knows. A reason that several workloads in a row
// have stands behind the last of them.
func writeLosses(b *strings.Builder, rep *report, why map[string]string) {
	b.WriteString("\n### Where Suiro loses, and why\n\nOf Suiro's two backends it is the better one that counts here.\n\n")
	var texts, reasons []string
	all := append(verdicts(rep, reach), verdicts(rep, further)...)
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
