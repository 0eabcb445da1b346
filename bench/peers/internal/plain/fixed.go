package plain

// Fixed is the whole answer, head and body, that idle connections of HTTP have had.
const Fixed = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
