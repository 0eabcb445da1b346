// Package engine is what joins tasks to reactors: a group of workers that each have one, the
// table that says whom a completion is for, what all are told at the end, and who has not ended.
// Packages conn and packet are built on it.
package engine
