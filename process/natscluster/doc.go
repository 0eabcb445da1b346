// Package natscluster joins process systems on several machines, over NATS. PIDs carry their node,
// so that Send, Call, SendAfter and Monitor of package process reach processes of other nodes.
//
//	types := natscluster.NewTypes()
//	natscluster.Register[Line](types, "chat.line", natscluster.AtMostOnce)
//	cluster, err := natscluster.Join(ctx, natscluster.Config{Types: types})
//	...
//	err = cluster.System().Send(ctx, pid, Line{"hello"}) // pid may be of any node
//
// Without a Config.URL a node runs a nats-server inside the program, and other nodes join it by
// [Cluster.URL]. With a URL it uses a NATS server or cluster that runs elsewhere.
//
// # Nodes
//
// A node has a random number, a new one for each Join. So a PID of a node that has restarted never
// reaches a process of its successor. Nodes find each other by heartbeats. A node without one for
// [Config.Lost] is lost: monitors of its processes get [ErrNodeLost], and so do calls that wait.
// It may come back, after a pause of the program for example. The two nodes then begin anew: each
// of them has reported the other one as lost.
//
// # Delivery
//
// Each type of message is registered with its [Delivery]. Messages of a type that is [AtMostOnce]
// are lost if the connection to NATS fails at that moment, or if the mailbox refuses them.
// A message that is [AtLeastOnce] is numbered, acknowledged, and sent again if it was lost; the
// receiver drops duplicates. It waits for room in the mailbox. It is delivered exactly once while
// neither node is lost to the other, and the receiving node can decode it. If a node is lost,
// Config.Process.Dropped gets each message that was sent to a PID and is not acknowledged, with
// ErrNodeLost. Requests of calls, their answers and the events of monitors are numbered, too.
//
// All nodes must register a type before they receive messages of it. A message of a type that the
// receiving node does not know, or that it cannot decode, is dropped there, whatever its Delivery
// is. Config.Logger of that node reports it; the sender does not learn of it. A call gets an error.
//
// If nobody waits for an answer any more, it is released as process.Request.Reply says: the value
// itself, or the copy that the caller's node has got.
//
// A message to a group skips members whose mailbox is full, whatever its Delivery is.
//
// Messages from one process to another arrive in their order, if their types have one Delivery.
//
// # Back-pressure
//
// A node has up to [Config.Window] bytes under way to each other node: sent, and neither received
// by a mailbox nor dropped. Then System.Send waits, and TrySend returns process.ErrMailboxFull.
// A message for a full mailbox waits at the receiving node, if it is AtLeastOnce or if the mailbox
// has process.OverflowWait, and counts as under way. Answers and events of monitors do not count.
//
// # Security
//
// Nodes trust each other and the NATS server: a client that can publish can send to all processes.
// The server inside the program has neither authentication nor TLS, and so listens on 127.0.0.1
// unless [Embedded] says otherwise. Across untrusted networks use a NATS server that has both, with
// Config.URL and Config.Options.
//
// Names are in JetStream buckets with one replica: while the server that has them is down, Register
// and Whereis fail.
package natscluster
