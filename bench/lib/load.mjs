// Clients over kept-alive connections, in a closed loop or at a rate. It counts answers and chunks, and what each waited for.
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** Runs `requests` of one body, at most `concurrent` at a time; with a `rate`, so many a second. A list of headers is taken in turn. */
export async function load({ port, path = '/v1/chat/completions', headers, body, concurrent, requests, rate }) {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrent })
  const waits = []
  let failures = 0
  let sent = 0
  const client = async () => {
    while (sent < requests) {
      const dueAt = rate === undefined ? 0 : began + (sent * 1000) / rate
      sent += 1
      if (dueAt - performance.now() > 1) await sleep(dueAt - performance.now())
      const started = performance.now()
      const own = Array.isArray(headers) ? headers[sent % headers.length] : headers
      const answer = await sendTurn({ agent, port, path, headers: own, body })
      if (answer.status !== 200 || !answer.whole) failures++
      waits.push(answer.firstByteAt - started)
    }
  }
  const began = performance.now()
  await Promise.all(Array.from({ length: concurrent }, client))
  agent.destroy()
  waits.sort((a, b) => a - b)
  return {
    seconds: (performance.now() - began) / 1000,
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
