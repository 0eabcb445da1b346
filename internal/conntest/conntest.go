// Package conntest helps to test package conn and the packages on it. It runs a test on every
// backend and reports everything that a test leaves behind. It turns a hang into a failure that
// shows which goroutines wait for which.
//
//	func TestSomething(t *testing.T) {
//		conntest.Backends(t, func(t *testing.T, backend string) { … })
//	}
package conntest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

// Patience is how long a condition may take to become true.
var Patience = patience.Limit

// Backends runs f, guarded, as a subtest on every backend that starts here. With SUIRO_BACKENDS=one
// in the environment each test has one of them, by its name.
func Backends(t *testing.T, f func(t *testing.T, backend string)) {
	all := reactor.Backends()
	if os.Getenv("SUIRO_BACKENDS") == "one" {
		i := int(hash(t.Name()) >> 8 % uint32(len(all)))
		all = all[i : i+1]
	}
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			if _, err := reactor.Select(reactor.Config{Backend: name}, nil); err != nil {
				t.Skipf("%s cannot start here: %v", name, err)
			}
			Guard(t)
			f(t, name)
		})
	}
}

// Matrix is Backends with the numbers of workers that Workers returns.
func Matrix(t *testing.T, f func(t *testing.T, backend string, workers int)) {
	MatrixOf(t, Workers(t), f)
}

// MatrixOf is Backends with each of these numbers of workers.
func MatrixOf(t *testing.T, all []int, f func(t *testing.T, backend string, workers int)) {
	Backends(t, func(t *testing.T, backend string) {
		for _, workers := range all {
			t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
				Guard(t)
				f(t, backend, workers)
			})
		}
	})
}

// Workers is how many workers a test tries: 1, and either 2 or 4. Half of all tests have 2, the
// others 4, by their names: both numbers mean several workers. Short runs leave out the one worker.
// With the tag long each test has 1, 2 and 4.
func Workers(t *testing.T) []int {
	if Thorough {
		return []int{1, 2, 4}
	}
	several := 2 << (hash(t.Name()) >> 9 & 1)
	if testing.Short() {
		return []int{several}
	}
	return []int{1, several}
}

// hash distributes tests by their names.
func hash(name string) uint32 {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, name)
	return sum.Sum32()
}

// Guard fails the test if it ends with more descriptors or goroutines than
// there are now, and the whole process, with a Dump, if the test hangs. It
// comes first in a test, so that it looks last.
func Guard(t testing.TB) {
	warm.Do(func() { // what the runtime opens once, and keeps
		r, w, err := os.Pipe()
		if err == nil {
			_ = r.Close()
			_ = w.Close()
		}
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt)
		signal.Stop(signals)
	})
	goroutines, descriptors := busyGoroutines(), Descriptors()
	// A test of many slow steps, hundreds of handshakes for one, takes minutes on a busy machine.
	hang := time.AfterFunc(10*Patience, func() {
		fmt.Fprintf(os.Stderr, "%s hangs\n%s", t.Name(), Dump())
		panic(t.Name() + " hangs")
	})
	t.Cleanup(func() {
		hang.Stop()
		if t.Failed() {
			return
		}
		Eventually(t, func() bool { return len(Descriptors()) <= len(descriptors) },
			func() string {
				return fmt.Sprintf("descriptors left:\nbefore %v\nafter  %v", descriptors, Descriptors())
			})
		Eventually(t, func() bool { return busyGoroutines() <= goroutines },
			func() string { return fmt.Sprintf("goroutines left: %d, had %d", busyGoroutines(), goroutines) })
	})
}

var warm sync.Once

// busyGoroutines is the number of goroutines without the idle threads of blocking pools. Those end
// by themselves after a second or so, as with a look-up of a name, and no test need wait for that.
func busyGoroutines() int {
	all := runtime.NumGoroutine() // first: a thread that ends now counts once too often, at most
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return all - bytes.Count(stacks, []byte("blocking.(*Pool).idleOut("))
}

// Descriptors lists the process's open descriptors and what they are.
func Descriptors() []string {
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil // no such thing here: nothing is compared
	}
	open := make([]string, 0, len(dir))
	for _, e := range dir {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // not the one just used
			open = append(open, e.Name()+":"+to)
		}
	}
	return open
}

// Eventually fails the test, with a Dump, if cond does not come true. what
// (strings, or functions that return one) says what that was.
func Eventually(t testing.TB, cond func() bool, what ...any) {
	t.Helper()
	end := time.Now().Add(Patience)
	for wait := 50 * time.Microsecond; !cond(); wait = min(2*wait, 5*time.Millisecond) {
		if time.Now().After(end) {
			fatal(t, what)
		}
		time.Sleep(wait)
	}
}

// Receive returns the next value of ch. The test fails, with a Dump, if there is none.
func Receive[T any](t testing.TB, ch <-chan T, what ...any) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(Patience):
		fatal(t, what)
		panic("unreachable")
	}
}

// Each calls f with 0 to n-1, each in its own goroutine, and fails the test
// with the first error, or with a Dump if one does not return.
func Each(t testing.TB, n int, f func(i int) error) {
	t.Helper()
	Crowd(t, n, n, f)
}

// Crowd is Each with only so many goroutines at a time.
func Crowd(t testing.TB, n, atOnce int, f func(i int) error) {
	t.Helper()
	next, done := make(chan int), make(chan error, n)
	for range min(n, atOnce) {
		go func() {
			for i := range next {
				done <- f(i)
			}
		}()
	}
	go func() {
		defer close(next)
		for i := range n {
			next <- i
		}
	}()
	var first error
	for i := range n {
		if err := Receive(t, done, "only ", fmt.Sprint(i), " of ", fmt.Sprint(n), " returned; first error: ", fmt.Sprint(first)); err != nil && first == nil {
			first = err
		}
	}
	if first != nil {
		t.Fatal(first)
	}
}

// ServeEach serves each connection that ln accepts in a goroutine of its own, with its
// number, until ln is closed.
//
// Any other error of Accept is of one connection: package net's listener returns
// WSAENOTCONN under Wine 8 for a peer that has reset before it was accepted.
func ServeEach(ln net.Listener, serve func(i int, c net.Conn)) {
	go func() {
		for i := 0; ; {
			switch c, err := ln.Accept(); {
			case err == nil:
				go serve(i, c)
				i++
			case errors.Is(err, net.ErrClosed):
				return
			}
		}
	}()
}

// Listen listens on a port of the loopback interface until the end of the test.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// Serve listens on a port of the loopback interface until the end of the test. It calls
// serve for each connection, and then closes it.
func Serve(t testing.TB, serve func(c net.Conn)) net.Addr {
	t.Helper()
	ln := Listen(t)
	ServeEach(ln, func(_ int, c net.Conn) {
		defer c.Close()
		serve(c)
	})
	return ln.Addr()
}

// Echo is a plain one: package net would splice, and keep the pipes.
func Echo(c net.Conn) { _, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) }

func fatal(t testing.TB, what []any) {
	t.Helper()
	var text bytes.Buffer
	for _, w := range what {
		if f, ok := w.(func() string); ok {
			text.WriteString(f())
		} else {
			fmt.Fprint(&text, w)
		}
	}
	t.Fatalf("gave up waiting: %s\n%s", text.String(), Dump())
}

var reporters struct {
	sync.Mutex
	list []*func() string
}

// Report adds the result of f to every Dump until the end of the test, for example the state of its
// connections.
func Report(t testing.TB, f func() string) {
	reporters.Lock()
	defer reporters.Unlock()
	reporters.list = append(reporters.list, &f)
	t.Cleanup(func() {
		reporters.Lock()
		defer reporters.Unlock()
		reporters.list = slices.DeleteFunc(reporters.list, func(p *func() string) bool { return p == &f })
	})
}

// Dump is all that may explain a hang: what Report was given, descriptors, and
// the stacks of all goroutines.
func Dump() string {
	var b bytes.Buffer
	reporters.Lock()
	list := slices.Clone(reporters.list)
	reporters.Unlock()
	for _, f := range list {
		fmt.Fprintln(&b, (*f)())
	}
	fmt.Fprintln(&b, Descriptors())
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
	return b.String()
}
