// Package deadlines has the deadlines of one connection: which is next, and which have passed.
// It measures for how long the peer takes nothing, and bounds how long and for how many bytes a
// closed connection waits for its peer. It is pure data: time is an argument, and it makes no
// system calls.
//
// All times count from one moment that the caller chooses; 0 means none.
package deadlines
