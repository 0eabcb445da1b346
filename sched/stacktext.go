package sched

import (
	"bytes"
	"runtime"
	"strings"
	"unsafe"

	"github.com/suiro-go/suiro/internal/dumptext"
)

// stackTexts are the stacks of all goroutines at one moment. To take them stops the world.
type stackTexts struct {
	byID       map[uint64]*stackText
	coroutines map[uint64]*coroutine // by the numbers of their goroutines
}

// newStackTexts takes the stacks, at most most bytes of text.
func newStackTexts(most int, coroutines map[uint64]*coroutine) *stackTexts {
	buf := make([]byte, most)
	s := &stackTexts{byID: make(map[uint64]*stackText), coroutines: coroutines}
	for text := range bytes.SplitSeq(buf[:runtime.Stack(buf, true)], []byte("\n\n")) {
		if one := parseStack(string(text)); one != nil {
			s.byID[one.id] = one
		}
	}
	for _, one := range s.byID {
		if by := s.byID[one.puller]; by != nil && coroutines[one.id] == nil {
			by.pulled = append(by.pulled, one)
		}
	}
	return s
}

// ofRun is the stack of the goroutine on which the worker's task runs. "": it was not found.
func (s *stackTexts) ofRun(w *worker, t *Task) string {
	if text := s.byID[w.goroutine].running(); text != "" {
		return text
	}
	for id, co := range s.coroutines {
		if co.of.Load() == uintptr(unsafe.Pointer(t)) {
			if text := s.byID[id].running(); text != "" {
				return text
			}
		}
	}
	return ""
}

// coroutines are all coroutines, by the numbers of their goroutines.
func (rt *Runtime) coroutines() map[uint64]*coroutine {
	all := make(map[uint64]*coroutine)
	for _, w := range rt.team() {
		w.stacks.mu.Lock()
		w.stacks.addTo(all)
		w.stacks.mu.Unlock()
	}
	return all
}

// coroutinesNow is coroutines for a report. whole is false if a list could not be locked.
func (rt *Runtime) coroutinesNow(text *dumptext.Text) (all map[uint64]*coroutine, whole bool) {
	all, whole = make(map[uint64]*coroutine), true
	for _, w := range rt.team() {
		if !text.Lock(&w.stacks.mu) {
			whole = false
			continue
		}
		w.stacks.addTo(all)
		w.stacks.mu.Unlock()
	}
	return all, whole
}

// addTo adds the worker's coroutines to a map. The lock is held.
func (s *stacks) addTo(all map[uint64]*coroutine) {
	for co := s.made; co != nil; co = co.next {
		all[co.goroutine] = co
	}
}

// A stackText is a goroutine in the text of runtime.Stack.
type stackText struct {
	text      string
	id        uint64
	coroutine bool         // it has switched to another goroutine, and waits for it
	puller    uint64       // the goroutine that made it by iter.Pull; 0: it was made otherwise
	pulled    []*stackText // the goroutines that it made by iter.Pull
}

// parseStack parses the text of one goroutine, as shown here; nil: the text has another form.
//
//	goroutine 9 [coroutine, locked to thread]:
//	main.serve()
//		/tmp/main.go:25 +0x25
//	created by iter.Pull[...] in goroutine 8
//		/usr/local/go/src/iter/iter.go:271 +0x90
func parseStack(text string) *stackText {
	rest, ok := strings.CutPrefix(text, "goroutine ")
	id, rest := cutNumber(rest)
	if !ok || id == 0 {
		return nil
	}
	s := &stackText{text: text, id: id, coroutine: strings.HasPrefix(rest, " [coroutine")}
	if _, by, ok := strings.Cut(rest, "\ncreated by iter.Pull"); ok {
		by, _, _ = strings.Cut(by, "\n")
		_, by, _ = strings.Cut(by, " in goroutine ")
		s.puller, _ = cutNumber(by)
	}
	return s
}

// cutNumber is the decimal number at the beginning of text, and the text after it. 0: there is no
// number.
func cutNumber(text string) (n uint64, rest string) {
	for rest = text; len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9'; rest = rest[1:] {
		n = 10*n + uint64(rest[0]-'0')
	}
	return n, rest
}

// running is the text of the goroutine that runs for s: s itself, or a goroutine to which s has
// switched.
func (s *stackText) running() string {
	if s == nil {
		return ""
	}
	if !s.coroutine {
		return s.text
	}
	for _, by := range s.pulled {
		if text := by.running(); text != "" {
			return text
		}
	}
	return ""
}
