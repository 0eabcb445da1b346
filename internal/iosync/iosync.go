// Package iosync tells the race detector what connections order: what a goroutine did before it
// sent happens before what another one does after it has received. Package syscall's Read and
// Write say so of package net's connections, and both share one variable of that package, so
// that edges lead from package net's connections to ours and back. Builds without the race
// detector do nothing here.
package iosync
