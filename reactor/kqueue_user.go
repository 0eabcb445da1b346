//go:build darwin || dragonfly || freebsd

package reactor

import "golang.org/x/sys/unix"

const (
	evfiltUser  = unix.EVFILT_USER
	noteTrigger = unix.NOTE_TRIGGER
)
