package reactor

// Best first: Select tries them in this order.
var backends = []backend{
	{name: "io_uring", probe: probeURing, open: openURing},
	{name: "epoll", probe: probeEpoll, open: openEpoll, unlocked: true},
}
