//go:build !race

package iosync

// Enabled reports whether the race detector is on.
const Enabled = false

// BeforeSend is called before bytes may leave, by the goroutine that has them.
func BeforeSend() {}

// AfterReceive is called after bytes have arrived, by the goroutine that has them.
func AfterReceive() {}
