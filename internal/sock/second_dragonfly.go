package sock

const keepAliveSecond = 1000 // these options count milliseconds
