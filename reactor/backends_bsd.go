//go:build unix && !linux

package reactor

var backends = []backend{kqueueBackend}
