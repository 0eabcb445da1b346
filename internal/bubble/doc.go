// Package bubble lets code that runs inside a bubble of testing/synctest share goroutines, channels
// and timers with code outside. The runtime's rules, which the first tests check:
//
//   - A channel, timer or WaitGroup made inside belongs to the bubble: its use from outside ends
//     the process. A channel made outside may be used inside. A goroutine that waits for it there
//     is not durably blocked, so the bubble's time stands still meanwhile.
//   - Every goroutine that is started inside belongs to the bubble, which does not end before it.
//   - Time inside is fake: it stands still while any goroutine waits in the kernel. Package net's
//     deadlines are real there, and so are those made with this package.
//
// A bubble's goroutine cannot leave it. So Outside runs its function on a goroutine of the
// attendant, which belongs to no bubble. The garbage collector's cleanups start the attendant at
// the first call. It ends soon after the last call, unless Hold keeps it. Outside bubbles each
// function here does only what its name says, at the cost of one clock read.
package bubble
