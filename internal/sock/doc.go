// Package sock makes the calls on a socket's descriptor that no reactor makes: addresses, options,
// errors, duplicates, and pipes. It hides the differences between systems, which give many of these
// calls other names, or lack them.
package sock
