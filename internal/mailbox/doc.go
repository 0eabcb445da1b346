// Package mailbox is the way into a task: chunks that the kernel has received, commands of other
// goroutines, and the ends of operations. Workers and goroutines put them into a Box, and the task
// takes all of them out. The package knows nothing of connections, calls nobody and wakes nobody.
// Tests with the build tag explore check the invariants under all interleavings of a few threads.
//
// A Box has no lock of its own: its owner's lock is held in every method. The owner wakes
// the task after each entry, once it has released the lock.
//
// Invariants:
//
//  1. No wake-up is lost. A Take that is too early for an entry holds the lock before the entry
//     does. The wake-up that follows the entry is then later than the beginning of that run, so
//     the task runs again.
//  2. Each accepted command is taken once: by Take, or by Late at the end. After Close no command
//     is accepted, so Late leaves none behind.
//  3. Commands are taken in the order in which they were accepted. So the commands of one
//     goroutine keep their order.
//  4. Chunks are taken in the order of their arrival. PutBack puts the rest before all that
//     arrived meanwhile.
//  5. The end of a receive is taken with the receive's last chunks, or after them. PutBack puts it
//     back with the chunks that it puts back.
//  6. After Shut no write of a goroutine begins. Shut reports the bytes of earlier writes that the
//     task has not taken, so the task ends its output after them.
//  7. A Queue is given back only while it is empty and while the Box that loses it is locked. The
//     Box forgets it under the same lock. So nothing enters a Queue that was given back.
package mailbox
