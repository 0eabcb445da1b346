package reactor

var backends = []backend{{name: "iocp", probe: probeIOCP, open: openIOCP, unlocked: true}}
