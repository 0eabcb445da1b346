//go:build !linux

package sched

func newAlarm(bool) alarm { return newTimerAlarm() }
