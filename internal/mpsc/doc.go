// Package mpsc has the lock-free parts of a process. Any number of senders fill a [Mailbox], and
// one task empties it. A [State] is the word that says whether the process runs, and which
// goroutine must wake it. In a [Room], senders wait until a full mailbox has room. The package
// calls nobody and wakes nobody. Tests with the build tag explore check the invariants under all
// interleavings of a few threads.
//
// Invariants:
//
//  1. Each accepted message is taken once: by Take, or by Close.
//  2. Messages of one sender are taken in the order in which it put them.
//  3. At most the limit of counted messages is in the mailbox or taken and not yet Freed.
//  4. No wake-up is lost: while a process is idle, its mailbox is empty, or somebody is about to
//     wake it. While it is blocked, no answer is in its mailbox, or somebody is about to wake it.
//  5. After Close nothing is accepted, and nothing is left behind.
//  6. No sender waits for nothing: while one sits in the Room, the mailbox is full, or somebody is
//     about to look.
package mpsc
