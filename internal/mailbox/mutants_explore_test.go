//go:build explore

package mailbox

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const (
	commands = "TestExploreCommands"
	chunks   = "TestExploreChunks"
	ends     = "TestExploreAnEnd"
	fin      = "TestExploreAFIN"
	given    = "TestExploreABatch"
)

var mistakes = map[string]mutants.Mutant{
	"a take that leaves the commands": mutants.In("box.go", commands,
		"n.Commands, m.commands = m.commands, nil", "n.Commands = m.commands"),
	"a take that leaves the chunks": mutants.In("box.go", chunks,
		"n.Chunks, m.chunks = m.chunks, nil", "n.Chunks = m.chunks"),
	"a take of the end without the chunks": mutants.In("box.go", chunks,
		"n.Chunks, m.chunks = m.chunks, nil", "if !b.signs.Is(RecvEnded) {\n\t\t\tn.Chunks, m.chunks = m.chunks, nil\n\t\t}"),
	"a take that forgets the end if chunks come with it": mutants.In("box.go", chunks,
		"n.Signs, b.signs = b.signs&^Stays, b.signs&Stays", "n.Signs, b.signs = b.signs&^Stays, b.signs&Stays\n\tif n.Chunks != nil {\n\t\tn.Signs = 0\n\t}"),
	"a take of a sign that stays": mutants.In("box.go", "TestExploreSigns",
		"b.signs&^Stays, b.signs&Stays", "b.signs, 0"),
	"a rest behind what arrived meanwhile": mutants.In("box.go", chunks,
		"append(rest, came...)", "append(came, rest...)"),
	"a rest instead of what arrived meanwhile": mutants.In("box.go", chunks,
		"append(rest, came...)", "rest"),
	"a rest without the end": mutants.In("box.go", chunks,
		"b.RecvEnd(n.RecvErrno)", "_ = n.RecvErrno"),
	"an end that is put back and kept": mutants.In("box.go", chunks,
		"n.Signs &^= RecvEnded\n", ""),
	"a closed box that accepts commands": mutants.In("box.go", ends,
		"if b.Closed() {\n\t\treturn false", "if b.Closed() && b.queue == nil {\n\t\treturn false"),
	"late commands that stay": mutants.In("box.go", ends,
		"late, b.queue.commands, b.queue.bytes = b.queue.commands, nil, 0", "late = nil"),
	"late commands that are taken twice": mutants.In("box.go", ends,
		"late, b.queue.commands, b.queue.bytes = b.queue.commands, nil, 0", "late = append(b.queue.commands, b.queue.commands...)"),
	"a shut box that accepts writes": mutants.In("box.go", fin,
		"return b.takes == takesAll", "return b.takes != takesNothing"),
	"a FIN before the writes that wait": mutants.In("box.go", fin,
		"return b.Bytes()\n}\n\n// Close", "return 0\n}\n\n// Close"),
	"a FIN that opens a closed box": mutants.In("box.go", "TestExploreAFINAtTheEnd",
		"b.takes = max(b.takes, takesNoWrite)", "b.takes = takesNoWrite"),
	"bytes that are not taken": mutants.In("box.go", fin+"$",
		"n.Bytes, m.bytes = m.bytes, 0", "n.Bytes = m.bytes"),
	"a queue that is given back and kept": mutants.In("box.go", given,
		"b.queue = nil\n\t\tto.Put(m)", "to.Put(m)"),
	"a queue that is given back with commands": mutants.In("box.go", given,
		"m.chunks == nil && m.commands == nil {", "m.chunks == nil {"),
	"a queue that is given back with chunks": mutants.In("box.go", given,
		"m.chunks == nil && m.commands == nil {", "m.commands == nil {"),
	"a queue that is given back in use": mutants.In("box.go", given,
		"m != nil && restIsZero &&", "m != nil &&"),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
