// Package iosync reports happens-before edges through connections to the race detector. A
// goroutine's actions before it sent happen before another one's actions after it has received.
// Package syscall's Read and Write report this for package net's connections. Both share one
// variable of that package, so that edges lead from package net's connections to ours and back.
// Builds without the race detector do nothing here.
package iosync
