//go:build explore

package chanx

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const (
	slots    = "TestExploreTheSlot"
	wakes    = "TestExploreWaiting"
	oneshots = "TestExploreAOneshot"
	blocks   = "TestExploreTheBlocks"
)

var mistakes = map[string]mutants.Mutant{
	"a producer that overwrites what is being read": mutants.In("ring.go", slots,
		"if s.stamp.Load() != pos {\n\t\t\t\ts.mustBecome(pos)\n\t\t\t}", ""),
	"a consumer that stores the head instead of comparing": mutants.In("ring.go", slots,
		"if r.head.CompareAndSwap(head, (head+1)&posMask) {", "if r.head.Store((head + 1) & posMask); true {"),
	"room that forgets the permits": mutants.In("ring.go", slots+".*/a_permit_beside",
		"permits := tail & permitMask / onePermit\n\tfloor", "permits := uint64(0)\n\tfloor"),
	"a sender that looks for receivers before it has sent": mutants.In("bounded.go", wakes+".*/a_sender_and_a_receiver",
		"is := c.ring.push(v)\n\tif is == done && c.receivers.some() {", "some := c.receivers.some()\n\tis := c.ring.push(v)\n\tif is == done && some {"),
	"a receiver that does not look twice": mutants.In("recvfuture.go", wakes+".*/a_sender_and_a_receiver",
		"f.wait(w)\n\treturn f.try(cx)", "f.wait(w)\n\treturn *new(T), sched.ErrPending"),
	"a canceled receiver that tells nobody": mutants.In("recvfuture.go", wakes+".*/a_receiver_that_is_canceled",
		"s.ch.passOn(nil)", "_ = s"),
	"a canceled sender that keeps its permit": mutants.In("sendfuture.go", wakes+".*/a_sender_that_is_canceled",
		"s.ch.unreserve(nil)", "_ = s"),
	"a newcomer that forgets that it has been given a permit": mutants.In("bounded.go", wakes+".*/a_sender_that_is_polled",
		"if newcomer != nil && !newcomer.decided() {", "if newcomer != nil {"),
	"a permit that is the last to go and tells nobody": mutants.In("bounded.go", wakes+".*/the_last_permit",
		"\t\tc.grant(cx, nil)\n\t}\n\tc.passOn(cx)\n}\n\n// received", "\t\tc.grant(cx, nil)\n\t}\n}\n\n// received"),
	"a consumer that does not tell the next receiver": mutants.In("bounded.go", wakes+".*/two_senders_and_two_receivers",
		"\t\tc.grant(cx, nil)\n\t}\n\tc.passOn(cx)\n}\n\n// passOn", "\t\tc.grant(cx, nil)\n\t}\n}\n\n// passOn"),
	"a oneshot whose waker is changed under the sender": mutants.In("oneshotrecv.go", oneshots,
		"if !f.state.CompareAndSwap(state, state&^oneshotReceiverWaits) {\n\t\t\t\tcontinue\n\t\t\t}\n\t\t\tstate &^= oneshotReceiverWaits",
		"f.waker = w\n\t\t\treturn *new(T), sched.ErrPending"),
	"a oneshot whose end is told to nobody": mutants.In("oneshot.go", oneshots,
		"if state&oneshotSenderWaits != 0 {\n\t\t\t\twake", "if false {\n\t\t\t\twake"),
	"a oneshot whose receiver gives up when the sender moves": mutants.In("oneshotrecv.go", oneshots,
		"if f.state.CompareAndSwap(state, state|oneshotReceiverWaits) {\n\t\t\treturn *new(T), sched.ErrPending\n\t\t}",
		"f.state.CompareAndSwap(state, state|oneshotReceiverWaits)\n\t\treturn *new(T), sched.ErrPending"),
	"a sender that waits for the end and does not look again": mutants.In("closed.go", "TestExploreTheEndOfABounded",
		"if !f.ch.IsClosed() { // no", "if true { // no"),
	"a block that is used again while a producer may know it": mutants.In("segments.go", blocks,
		"if s.ready.Load()&released == 0 || s.observed > q.at {", "if false {"),
}

// The explorer must find each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
