package reactor

// Of sys/event.h; NetBSD 10 brought them, and one before refuses the filter.
const (
	evfiltUser  = 8
	noteTrigger = 0x01000000
)
