package main

import (
	"context"
	"fmt"
	"io"
)

// An again has what the further runs of tests came to, by the name of the whole test, since
// that runs all its subtests: the first on package net, then those on Suiro.
type again map[string][]*result

// evaluate says what became of a failure when its test ran again, and whether it is Suiro's.
func (a again) evaluate(ctx context.Context, b *binary, mode, backend, test string, raw io.Writer) (string, bool, error) {
	if test == "(end)" {
		return "no test has failed", true, nil
	}
	runs, err := a.run(ctx, b, mode, backend, topOf(test), raw)
	if err != nil {
		return "", false, err
	}
	if len(runs) == 0 {
		return "it was not run again", true, nil
	}
	n := 0
	for i, r := range runs {
		switch {
		case !r.failed(test):
		case i == 0:
			return "it does on package net too", false, nil
		default:
			n++
		}
	}
	if n == 0 {
		return fmt.Sprintf("not in %d runs alone", *times), false, nil
	}
	return fmt.Sprintf("and %d times in %d runs alone", n, *times), true, nil
}

func (a again) run(ctx context.Context, b *binary, mode, backend, top string, raw io.Writer) ([]*result, error) {
	if runs, ok := a[top]; ok || *times <= 0 {
		return runs, nil
	}
	for i := range *times + 1 {
		as := mode
		if i == 0 {
			as = "none"
		}
		r := &result{last: map[string]string{}, output: map[string]string{}}
		if err := b.runOne(ctx, as, backend, top, r, raw); err != nil {
			return nil, err
		}
		a[top] = append(a[top], r)
	}
	return a[top], nil
}

// failed reports whether a test failed, or ended its process before that could be said.
func (r *result) failed(test string) bool {
	return r.last[test] == "fail" || r.last[test] == "" && r.last[topOf(test)] == "fail"
}
