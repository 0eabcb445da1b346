package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// Measures of a plot, in pixels.
const (
	plotWidth = 760
	plotLeft  = 190 // for names
	plotRight = 130 // for figures
	barHeight = 16
	barStep   = 24
	plotTop   = 56
)

const (
	oursColor  = "#1f77b4"
	peersColor = "#9aa0a6"
)

// curveColors are those of peers whose lines cross.
var curveColors = map[string]string{"gnet": "#e07b00", "net": "#2a9d3a", "tokio": "#b03060"}

type drawing struct{ strings.Builder }

func (d *drawing) put(format string, args ...any) { fmt.Fprintf(&d.Builder, format+"\n", args...) }

func (d *drawing) begin(height int, load workload, about string) {
	d.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, plotWidth, height)
	d.put(`<rect width="%d" height="%d" fill="white"/>`, plotWidth, height)
	d.text(12, 22, "start", 14, load.Name+": "+load.Title)
	d.text(12, 42, "start", 12, about)
}

func (d *drawing) text(x, y float64, anchor string, size int, s string) {
	d.put(`<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>`, x, y, anchor, size, html.EscapeString(s))
}

func (d *drawing) end() string {
	d.put("</svg>")
	return d.String()
}

func colorOf(name string) string {
	if strings.HasPrefix(name, "suiro") {
		return oursColor
	}
	return peersColor
}

// bars is a plot of the figures of a workload: a bar for each contender. It is "" if there are
// none.
func bars(rep *report, load workload) string {
	type bar struct {
		name string
		spread
	}
	var all []bar
	most := 0.
	for _, name := range contendersOf(rep.Config, load) {
		if own := pick(rep.Samples, name, load.Name); len(own) > 0 {
			b := bar{name, spreadOf(values(own, figure))}
			all = append(all, b)
			most = max(most, b.most)
		}
	}
	if most <= 0 {
		return ""
	}
	better := "less is better"
	if load.more {
		better = "more is better"
	}
	var d drawing
	d.begin(plotTop+barStep*len(all)+12, load, load.Unit+"; "+better+"; medians with least and most")
	at := func(x float64) float64 { return plotLeft + max(0, x)/most*(plotWidth-plotLeft-plotRight) }
	for i, b := range all {
		y := float64(plotTop + barStep*i)
		middle := y + barHeight/2
		d.text(plotLeft-8, middle+4, "end", 12, b.name)
		d.put(`<rect x="%d" y="%.1f" width="%.1f" height="%d" fill="%s"/>`, plotLeft, y, at(b.median)-plotLeft, barHeight, colorOf(b.name))
		d.put(`<path d="M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8" stroke="black" fill="none"/>`,
			at(b.least), middle, at(b.most), at(b.least), middle-4, at(b.most), middle-4)
		d.text(plotWidth-plotRight+12, middle+4, "start", 12, number(b.median))
	}
	return d.end()
}

// curves is a plot of latencies by percentile, both axes logarithmic: a line for each contender, of
// its last round.
func curves(rep *report, load workload) string {
	const height, bottom, worst = 420, 380, 99.99
	across := func(percentile float64) float64 { // 90 %, 99 % and 99.9 % are as far from each other
		return plotLeft - 120 + math.Log10(100/(100-min(percentile, worst)))/4*(plotWidth-plotLeft-60)
	}
	least, most := math.Inf(1), 0.
	type curve struct {
		name   string
		points [][2]float64
	}
	var all []curve
	for _, name := range contendersOf(rep.Config, load) {
		own := pick(rep.Samples, name, load.Name)
		if len(own) == 0 {
			continue
		}
		c := curve{name: name}
		for _, p := range own[len(own)-1].Outcome.Latency.Curve {
			took := max(micros(p.Took), 1)
			least, most = min(least, took), max(most, took)
			c.points = append(c.points, [2]float64{p.Percentile, took})
		}
		all = append(all, c)
	}
	if most <= 0 {
		return ""
	}
	low, high := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	up := func(took float64) float64 {
		return bottom - (math.Log10(took)-low)/max(1, high-low)*(bottom-plotTop-10)
	}
	var d drawing
	d.begin(height, load, "Latency by percentile, from the intended start, in the last round")
	for e := low; e <= high; e++ {
		y := up(math.Pow(10, e))
		d.put(`<path d="M%.1f %.1fH%.1f" stroke="#ddd"/>`, across(0), y, across(worst))
		d.text(across(0)-6, y+4, "end", 12, (time.Duration(math.Pow(10, e)) * time.Microsecond).String())
	}
	for _, p := range []float64{0, 50, 90, 99, 99.9, 99.99} {
		d.text(across(p), bottom+20, "middle", 12, fmt.Sprintf("%g %%", p))
	}
	dashes := []string{"", "6 3", "2 3", "8 3 2 3", "1 2"}
	for i, c := range all {
		var path strings.Builder
		for j, p := range c.points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], across(p[0]), up(p[1]))
		}
		style := fmt.Sprintf(`stroke="%s" stroke-width="2" stroke-dasharray="%s"`, cmp.Or(curveColors[c.name], colorOf(c.name)), dashes[i%len(dashes)])
		d.put(`<path d="%s" fill="none" %s/>`, path.String(), style)
		y := float64(plotTop + 10 + 18*i)
		d.put(`<path d="M%d %.1fh30" %s/>`, plotWidth-160, y, style)
		d.text(plotWidth-122, y+4, "start", 12, c.name)
	}
	return d.end()
}

// plot is the picture of a workload.
func plot(rep *report, load workload) string {
	if load.Rate > 0 || load.Capacity > 0 {
		return curves(rep, load)
	}
	return bars(rep, load)
}
