// Package engine joins tasks to reactors. It has a group of workers with a reactor each, and the
// table that finds the target of a completion. It gives orders to all targets at the end of a
// group, and counts the targets that have not ended. Packages conn and packet are built on it.
package engine
