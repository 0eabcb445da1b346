package server

// LineLogger is for tests.
var LineLogger = lineLogger
