//go:build race && windows

package iosync

import "syscall"

// Package syscall releases before a write and acquires after a read even if they fail.
const (
	nowhere = syscall.InvalidHandle
	empty   = syscall.InvalidHandle
)
