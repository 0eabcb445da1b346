//go:build kqueue

// Package kevent emulates kqueue on Linux, for tests. It uses epoll, timerfd and eventfd, and
// covers enough of kevent(2) that the backend runs as the manual pages of the BSDs describe. It is
// compiled only with the build tag kqueue.
//
// Its rules:
//
//   - A filter is one descriptor (or timer, or number) in one direction. It is reported if it is
//     true when the event is taken, not when it was noted: data that was read in between is no
//     event.
//   - EV_CLEAR: after a report, a new event has to occur. EV_ONESHOT: the filter is removed after a
//     report. EV_DISPATCH: it is disabled then. Without these flags: it is reported again as long
//     as it is true.
//   - Adding a filter that exists changes it, enables it, and evaluates it anew.
//   - Filters end with the last close of their descriptor's number, whatever else refers to the
//     file.
//   - EVFILT_READ counts bytes, or connections of a listener. EV_EOF says that there will be no
//     more of them, and fflags has the error, if there is one. EVFILT_WRITE counts the room. Its
//     EV_EOF says that the peer does not read any more.
//   - A change that fails becomes an event with EV_ERROR and the errno in data, if there is room
//     for it. Without room it is the error of the call, which makes no more changes. EV_RECEIPT
//     makes each change such an event, with 0 for success. With any of them the call returns at
//     once.
//   - An interrupted call has made its changes.
//
// State that Linux does not report is inferred. A socket's error cannot be read without taking it,
// so it is ECONNRESET for a socket that has been connected, and ECONNREFUSED for others. Behind an
// urgent mark one byte is assumed. In the backlog of a Unix socket's listener one connection is
// assumed.
package kevent
