// Package kv is a store of keys and values, and the commands of Redis on it, without any I/O:
// requests are bytes that go in, replies bytes that come out.
package kv

import (
	"errors"
	"fmt"
	"sync"
)

// MaxCommand is the most bytes that a command may have, 64 MiB.
const MaxCommand = 64 << 20

// enough is how many bytes of replies gather before Execute returns.
const enough = 64 << 10

// ErrQuit is the end that a client asked for.
var ErrQuit = errors.New("kv: QUIT")

// A Work is the memory in which commands are executed. It serves any connection, one at a time. An
// idle connection needs none.
type Work struct {
	Out  []byte // replies; the caller sends them and truncates it
	args [][]byte
	name [16]byte // of a command, in lower case

	recent [32]*command // by the first letter: clients use few commands, often by turns
}

var works = sync.Pool{New: func() any { return new(Work) }}

// Borrow is a Work from a pool.
func Borrow() *Work { return works.Get().(*Work) }

// Return gives it back. The replies in it are dropped.
func (w *Work) Return() {
	if cap(w.Out) > 2*enough {
		w.Out = nil // of a large value
	}
	clear(w.args)
	w.Out, w.args = w.Out[:0], w.args[:0]
	works.Put(w)
}

// Execute executes the commands at the front of p, n bytes, and appends the replies to w.Out. It
// keeps nothing of p.
//
// It returns early after 64 KiB of replies. Then need is 0: send the replies, and call it again for
// the rest of p. Otherwise the rest of p is the beginning of a command, perhaps empty. That command
// has need bytes or more.
//
// After an error, send the replies and close the connection. The error is ErrQuit, or one of the
// protocol.
func (s *Store) Execute(w *Work, p []byte) (n, need int, err error) {
	for n < len(p) {
		if len(w.Out) >= enough {
			return n, 0, nil
		}
		args, size, need, err := parse(w.args, p[n:])
		w.args = args
		if err == nil && max(size, need) > MaxCommand {
			err = protocolError("too big request")
		}
		if err != nil {
			w.Out = appendError(w.Out, err.Error())
			return n, 1, err
		}
		if size == 0 {
			return n, need, nil
		}
		n += size
		if len(args) > 0 && !s.command(w, args) {
			return n, 1, ErrQuit
		}
	}
	return n, 1, nil
}

// command executes one. It reports whether the connection goes on.
func (s *Store) command(w *Work, args [][]byte) bool {
	name := w.name[:copy(w.name[:], args[0])]
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			name[i] = c + 'a' - 'A'
		}
	}
	var cmd *command
	if len(name) > 0 {
		recent := &w.recent[name[0]%32]
		if *recent == nil || (*recent).name != string(name) {
			*recent = commands[string(name)]
		}
		cmd = *recent
	}
	if cmd == nil || len(name) != len(args[0]) {
		w.unknown(args)
		return true
	}
	if len(args) != cmd.arity && (cmd.arity > 0 || len(args) < -cmd.arity) {
		w.Out = appendError(w.Out, fmt.Sprintf("wrong number of arguments for '%s' command", name))
		return true
	}
	if cmd.one != nil {
		sh := &s.shards[s.indexOf(args[1])]
		sh.mu.Lock()
		w.Out = cmd.one(sh, w.Out, args)
		sh.mu.Unlock()
		return true
	}
	w.Out = cmd.all(s, w.Out, args)
	return !cmd.last
}

func (w *Work) unknown(args [][]byte) {
	text := fmt.Appendf(nil, "unknown command '%.128s', with args beginning with: ", args[0])
	for _, arg := range args[1:] {
		if len(text) > 256 {
			break
		}
		text = fmt.Appendf(text, "'%.128s' ", arg)
	}
	w.Out = appendError(w.Out, string(text))
}
