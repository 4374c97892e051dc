import { request } from 'node:http'

/** The finish reason goes out at once, `[DONE]` only behind the settle: between the two is what the settle took. */
export function sendTurn(server, agent, { key, body }) {
  return new Promise((resolve, reject) => {
    const sent = request({
      agent,
      host: '127.0.0.1',
      port: server.port,
      path: '/v1/chat/completions',
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': body.length,
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...server.headers,
      },
    })
    sent.on('response', (answer) => {
      let finishedAt
      let bytes = 0
      answer.on('data', (part) => {
        bytes += part.length
        if (key === undefined && finishedAt === undefined && part.includes('"finish_reason":"stop"')) {
          finishedAt = performance.now()
        }
      })
      answer.on('end', () =>
        resolve({
          status: answer.statusCode,
          replayed: answer.headers['idempotency-replayed'] === 'true',
          bytes,
          settledMs: performance.now() - (finishedAt ?? performance.now()),
        }),
      )
      answer.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
