// Package accept accepts connections on listening sockets. A Socket is a task. It keeps an Accept
// in flight while there is room for another connection, and hands each accepted descriptor to its
// Owner. It pauses after an error. It closes its descriptor, also while its worker is stuck.
//
// The package knows nothing of connections and handlers. Limits of package admission and a Budget
// of package membudget say whether there is room. The Owner of a Socket makes a connection of a
// descriptor.
package accept
