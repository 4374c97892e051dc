import { createServer, request as sendTurn } from 'node:http'

/**
 * Stands before the gateway and notes what comes through it: its kind, body, status, the code of its error, when it came and when its
 * client was gone. Nothing is changed, also of an upgrade, so that the answers are the gateway's own. `pickUrl` says where each request
 * goes; undefined breaks it off.
 */
export async function openCountingProxy(pickUrl) {
  const seen = []
  const began = performance.now()
  const forward = (incoming, body, onAnswer) => {
    const kind = incoming.headers.upgrade === undefined ? incoming.method : 'UPGRADE'
    const note = { kind, body, ms: Math.round(performance.now() - began) }
    seen.push(note)
    const picked = typeof pickUrl === 'string' ? pickUrl : pickUrl()
    if (picked === undefined) return { note }
    const { hostname, port } = new URL(picked)
    const { method, url: path, headers } = incoming
    const outgoing = sendTurn({ hostname, port, method, path, headers, agent: false }, (answer) => {
      note.status = answer.statusCode
      if (note.status >= 400) answer.on('data', (bytes) => (note.code ??= /"code":"(\w+)"/.exec(bytes)?.[1]))
      onAnswer(answer)
    })
    outgoing.end(body)
    return { note, sent: outgoing }
  }
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray())
    const { note, sent: receivedRequest } = forward(incoming, body, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers)
      answer.pipe(outgoing)
      answer.on('aborted', () => outgoing.destroy())
    })
    if (receivedRequest === undefined) return void outgoing.destroy()
    receivedRequest.on('error', () => outgoing.destroy())
    outgoing.on('close', () => {
      note.closedAt = performance.now()
      receivedRequest.destroy()
    })
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
