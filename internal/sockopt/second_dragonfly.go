package sockopt

const keepAliveSecond = 1000 // these options count milliseconds
