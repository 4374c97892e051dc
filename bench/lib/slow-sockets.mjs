import { connect } from 'node:net'

const DRIP_MS = 1000

/**
 * `count` sockets that do as `play` says: it gets each socket once it is connected and returns how to stop. Who is thrown
 * out comes again, as they do. `thrownOut` counts them.
 */
export function openSockets({ port, count, play, returns = true }) {
  const open = new Set()
  const state = { closed: false, thrownOut: 0 }
  const enter = (number) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const stop = play(socket, number)
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      stop?.()
      open.delete(socket)
      if (state.closed) return
      state.thrownOut += 1
      if (returns) enter(number)
    })
  }
  for (let number = 0; number < count; number++) enter(number)
  return {
    get thrownOut() {
      return state.thrownOut
    },
    get size() {
      return open.size
    },
    close() {
      state.closed = true
      for (const socket of open) socket.destroy()
    },
  }
}

/** Asks and reads nothing: paused before it is connected, so that what the kernel receives for it stays at its first size. */
export const stopReading = (asks, headers) => (socket, number) => {
  const { path, body } = asks[number % asks.length]
  socket.pause()
  socket.write(Buffer.concat([headOf(path, headers, body.length), body]))
}

/** Half of them have never said anything, half have been answered once. */
export const idle = () => (socket, number) => {
  socket.resume()
  if (number % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nhost: bench\r\n\r\n')
}

/** A byte a second: half of them of the head, half of the body. */
export const drip =
  ({ path, body }, headers) =>
  (socket, number) => {
    socket.resume()
    const head = headOf(path, headers, body.length)
    const bytes = Buffer.concat([head, body])
    let at = number % 2 === 0 ? 1 : head.length
    socket.write(bytes.subarray(0, at))
    const timer = setInterval(() => socket.write(bytes.subarray(at, ++at)), DRIP_MS)
    return () => clearInterval(timer)
  }

function headOf(path, headers, length) {
  const lines = Object.entries({
    host: 'bench',
    'content-type': 'application/json',
    'content-length': length,
    ...headers,
  })
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
}
