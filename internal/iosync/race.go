//go:build race

package iosync

import "syscall"

// Enabled reports whether the race detector is on.
const Enabled = true

// BeforeSend is called before bytes may leave, by the goroutine that has them. The write fails,
// and package syscall releases before it tries.
func BeforeSend() { _, _ = syscall.Write(nowhere, nil) }

// AfterReceive is called after bytes have arrived, by the goroutine that has them.
func AfterReceive() { _, _ = syscall.Read(empty, nil) }
