// Package goid tells goroutines apart.
package goid

import (
	"bytes"
	"runtime"
	"strconv"
)

// Number is the number of the calling goroutine in the output of runtime.Stack. To find it takes 3
// to 15 µs.
func Number() uint64 {
	var buf [64]byte
	text := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(text, []byte(" "))
	n, _ := strconv.ParseUint(string(digits), 10, 64)
	return n
}
