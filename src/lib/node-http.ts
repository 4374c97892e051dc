// Node's HTTP, without its names for a module: an `import` of `node:http` reads all of them, and `http.WebSocket` makes Node load
// a client of its own, which takes a fifth of the time of a start.
export const { createServer, get, request, STATUS_CODES } = process.getBuiltinModule('node:http')
