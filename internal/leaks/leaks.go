// Package leaks finds goroutines that wait and that nothing can wake any more, at the end of a
// suite of tests.
package leaks

import (
	"bytes"
	"fmt"
	"os"
	"runtime/pprof"
)

// Exit ends the process with the code of testing.M.Run. It is 1 instead of 0 if Go's profile of
// leaked goroutines is not empty, which it prints then. Go 1.26 has that profile if it was built
// with GOEXPERIMENT=goroutineleakprofile. Without it Exit finds nothing.
//
// A goroutine counts if it waits for a channel, a lock or a sync.Cond that no goroutine can reach.
func Exit(code int) {
	if found := profile(); code == 0 && found != "" {
		fmt.Fprintf(os.Stderr, "goroutines that nothing can wake any more:\n%s", found)
		code = 1
	}
	os.Exit(code)
}

// profile is the text of the profile; "": it is empty.
func profile() string {
	p := pprof.Lookup("goroutineleak")
	if p == nil {
		return ""
	}
	var text bytes.Buffer
	if err := p.WriteTo(&text, 1); err != nil { // it collects garbage first, and so counts
		return err.Error()
	}
	if p.Count() == 0 {
		return ""
	}
	return text.String()
}
