// Clients in a closed loop over kept-alive connections. It counts answers and chunks, and what each waited for.
import { Agent, request } from 'node:http'

/** Runs `requests` of one body, `concurrent` at a time. */
export async function load({ port, path = '/v1/chat/completions', headers, body, concurrent, requests }) {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrent })
  const waits = []
  let failures = 0
  let left = requests
  const client = async () => {
    while (left-- > 0) {
      const started = performance.now()
      const answer = await sendTurn({ agent, port, path, headers, body })
      if (answer.status !== 200 || !answer.whole) failures++
      waits.push(answer.firstByteAt - started)
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: concurrent }, client))
  agent.destroy()
  waits.sort((a, b) => a - b)
  return {
    seconds: (performance.now() - started) / 1000,
    failures,
    p50: waits[waits.length >> 1],
    p99: waits[Math.floor(waits.length * 0.99)],
  }
}

/** One request, read to its end. */
export function sendTurn({ agent, port, path, headers, body }) {
  return new Promise((resolve, reject) => {
    const sent = request({
      agent,
      host: '127.0.0.1',
      port,
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': body.length, ...headers },
    })
    sent.on('response', (answer) => {
      let firstByteAt
      let tail = ''
      answer.on('data', (bytes) => {
        firstByteAt ??= performance.now()
        tail = bytes.toString('latin1', Math.max(0, bytes.length - 16))
      })
      answer.on('end', () =>
        resolve({ status: answer.statusCode, firstByteAt, whole: tail.endsWith('}') || tail.endsWith('[DONE]\n\n') }),
      )
      answer.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
