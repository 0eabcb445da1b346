package faults

// Into makes the system calls of a reactor fail as the plan says; nil: none fail. config is a
// *reactor.Config. Package reactor sets Into and Of, so that its Config shows no field for tests.
var Into func(config any, plan *Plan)

// Of is the plan that Into has put into a *reactor.Config; nil: none.
var Of func(config any) *Plan
