import { createServer, request as sendTurn } from 'node:http'

/**
 * Stands before the gateway and notes what comes through it: its kind, body, status and when. Nothing is changed, also
 * of an upgrade, so that the answers are the gateway's own.
 */
export async function openCountingProxy(baseUrl) {
  const { hostname, port } = new URL(baseUrl)
  const seen = []
  const began = performance.now()
  const forward = (incoming, body, onAnswer) => {
    const kind = incoming.headers.upgrade === undefined ? incoming.method : 'UPGRADE'
    const note = { kind, body, ms: Math.round(performance.now() - began) }
    seen.push(note)
    const { method, url: path, headers } = incoming
    const outgoing = sendTurn({ hostname, port, method, path, headers, agent: false }, (answer) => {
      note.status = answer.statusCode
      onAnswer(answer)
    })
    outgoing.end(body)
    return outgoing
  }
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray())
    const receivedRequest = forward(incoming, body, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers)
      answer.pipe(outgoing)
      answer.on('aborted', () => outgoing.destroy())
    })
    receivedRequest.on('error', () => outgoing.destroy())
    outgoing.on('close', () => receivedRequest.destroy())
  })
  server.on('upgrade', (incoming, socket) => {
    forward(incoming, undefined, async (answer) => {
      const head = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`]
      for (const [name, value] of Object.entries(answer.headers)) head.push(`${name}: ${value}`)
      socket.end(`${head.join('\r\n')}\r\n\r\n${Buffer.concat(await answer.toArray())}`)
    })
    socket.on('error', () => undefined)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    /** The turns that were asked for. */
    get turns() {
      return seen.filter(({ kind }) => kind === 'POST')
    },
    get upgrades() {
      return seen.filter(({ kind }) => kind === 'UPGRADE')
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
