package reactor

// Of sys/event.h. NetBSD 10 introduced them. Earlier versions refuse the filter.
const (
	evfiltUser  = 8
	noteTrigger = 0x01000000
)
