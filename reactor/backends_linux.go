package reactor

import "slices"

// Best first: Select tries them in this order.
var backends = slices.Concat([]backend{
	{name: "io_uring", probe: probeURing, open: openURing, thread: true},
	{name: "epoll", probe: probeEpoll, open: openEpoll, unlocked: true, coalesces: true},
}, emulated)
