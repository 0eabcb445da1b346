package server

// RunWith is Run with signals of the test's.
var RunWith = run
