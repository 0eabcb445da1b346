//go:build kqueue

// Package kevent is kqueue on Linux, for tests: enough of it, over epoll, timerfd and
// eventfd, that a program written for kevent(2) runs as the manual pages of the BSDs
// have it. It is compiled only with the build tag kqueue.
//
// What it keeps to:
//
//   - A filter is one descriptor (or timer, or number) in one direction. It is told of if it is true
//     when the event is taken, not when it was noted: what was read in between is no event.
//   - EV_CLEAR: after it was told of, something has to happen again. EV_ONESHOT: it is gone then.
//     EV_DISPATCH: it is disabled then. None of them: it is told of again for as long as it is true.
//   - Adding one that is there changes it, enables it, and looks at it anew.
//   - Filters go with the last close of their descriptor's number, whatever else refers to the file.
//   - EVFILT_READ counts bytes, or connections of a listener; EV_EOF says that there will be no more
//     of them, and fflags why, if that is an error. EVFILT_WRITE counts the room; its EV_EOF says that
//     nobody reads any more.
//   - A change that fails becomes an event with EV_ERROR and the errno in data, if there is room for it,
//     and else the error of the call, which makes no more changes. EV_RECEIPT makes each change such an
//     event, with 0 for success. With any of them the call returns at once.
//   - An interrupted call has made its changes.
//
// What Linux does not tell is inferred: a socket's error cannot be looked at without taking it, so it is
// ECONNRESET of one that has been connected and ECONNREFUSED of another; of bytes behind an
// urgent mark there is one; the backlog of a Unix socket's listener has one.
package kevent
