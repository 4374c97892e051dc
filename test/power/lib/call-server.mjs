import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'

/** An operator's operation, as a command asks the running server for it, without the second that a process takes. */
export function callServer(data, operation, args) {
  const { socket: path, version } = JSON.parse(readFileSync(join(data, 'server.json'), 'utf8'))
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(path, () => socket.write(`${JSON.stringify({ version, operation, args })}\n`))
    socket.setEncoding('utf8')
    socket.on('error', reject)
    socket.on('data', (part) => {
      text += part
      if (!text.endsWith('\n')) return
      socket.destroy()
      const { kind, outcome } = JSON.parse(text)
      if (kind === 'answered' && outcome.kind === 'done') resolve(outcome.value)
      else reject(new Error(`${operation} was answered ${text}`))
    })
  })
}
