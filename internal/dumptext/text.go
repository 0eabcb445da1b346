// Package dumptext has the text of a report about a program that may hang. The locks that it asks
// for may be held for good, so it waits only for a moment for all of them together.
package dumptext

import (
	"bytes"
	"fmt"
	"runtime"
	"time"
)

// A Text is the text of a report. The zero value is empty. One goroutine uses it.
type Text struct {
	bytes.Buffer
	waited int // waits so far
}

// A TryLocker is a lock that need not be waited for.
type TryLocker interface{ TryLock() bool }

// The longest wait for all locks of a report together is mostWaits times wait.
const (
	mostWaits = 100
	wait      = time.Millisecond
	yields    = 20
)

// Lock locks mu. It reports false if mu was not free in time: "busy".
func (t *Text) Lock(mu TryLocker) bool {
	for range yields { // most locks are held for some microseconds
		if mu.TryLock() {
			return true
		}
		runtime.Gosched()
	}
	for t.mayWait() {
		if mu.TryLock() {
			return true
		}
	}
	return false
}

// Call calls f, which may wait for a lock, on a goroutine of its own. It reports false if f has not
// returned in time. Then f goes on, and the caller must not use what f writes.
func (t *Text) Call(f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for {
		select {
		case <-done:
			return true
		default:
		}
		if t.waited >= mostWaits {
			return false
		}
		select {
		case <-done:
			return true
		case <-time.After(wait):
			t.waited++
		}
	}
}

// mayWait waits for a moment, and reports false once the waits are used up.
func (t *Text) mayWait() bool {
	if t.waited >= mostWaits {
		return false
	}
	t.waited++
	time.Sleep(wait)
	return true
}

// Linef adds a line, indented by so many steps.
func (t *Text) Linef(indent int, format string, args ...any) {
	for range indent {
		t.WriteString("  ")
	}
	_, _ = fmt.Fprintf(t, format, args...)
	t.WriteByte('\n')
}

// Block adds lines of text, indented by so many steps, at most most of them.
func (t *Text) Block(indent int, text string, most int) {
	for line := range bytes.Lines([]byte(text)) {
		if most--; most < 0 {
			t.Linef(indent, "...")
			return
		}
		t.Linef(indent, "%s", bytes.TrimRight(line, "\n"))
	}
}
