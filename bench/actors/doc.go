// Package actors compares package process with actor libraries, and with goroutines and channels:
// ping-pong, fan-in, spawning and the memory of idle processes, within one program.
//
//	go -C bench/actors test -run xxx -bench . -count 3 ./...
//
// All cases have the same form: an actor is a function that gets one message at a time, and sends
// to others. Mailboxes have no limit where the library allows that. The case ergo is the last
// version of Ergo's former module path; Ergo 3 is not in the comparison.
package actors
