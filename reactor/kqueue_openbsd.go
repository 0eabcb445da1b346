package reactor

const (
	evfiltUser  = noFilter
	noteTrigger = 0
)
