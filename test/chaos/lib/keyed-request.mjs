import { createHash } from 'node:crypto'
import { request } from 'node:http'

/**
 * Sends one request with an idempotency key and resolves to what became of it. `ended`: whole · refused (with `code`) ·
 * failed (an error event in the stream) · aborted (by us) · broken (the server died) · unsent (no server).
 */
export function sendKeyed({ port, agent, apiKey, idempotencyKey, body, abortAfterMs }) {
  return new Promise((resolve) => {
    const note = { ended: undefined, id: undefined, original: undefined, replayed: false, code: undefined }
    const outgoing = request({ port, agent, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' })
    const abort = () => {
      note.ended ??= 'aborted'
      outgoing.destroy()
    }
    const timer = abortAfterMs === undefined ? undefined : setTimeout(abort, abortAfterMs)
    outgoing.on('response', (response) => {
      const { headers } = response
      note.status = response.statusCode
      note.retryAfter = headers['retry-after']
      note.id = headers['x-request-id']
      note.replayed = headers['idempotency-replayed'] === 'true'
      note.original = note.replayed ? headers['x-original-request-id'] : note.id
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part) => {
        text += part
      })
      response.on('end', () => judge(note, response.statusCode, text.replaceAll(': keep-alive\n\n', '')))
      response.on('error', () => {})
    })
    outgoing.on('error', (error) => {
      if (error.code === 'ECONNREFUSED') note.ended ??= 'unsent'
    })
    outgoing.on('close', () => {
      clearTimeout(timer)
      note.ended ??= 'broken'
      resolve(note)
    })
    outgoing.setHeader('authorization', `Bearer ${apiKey}`)
    outgoing.setHeader('content-type', 'application/json')
    outgoing.setHeader('idempotency-key', idempotencyKey)
    outgoing.end(body)
  })
}

function judge(note, status, text) {
  if (note.ended) return
  note.digest = createHash('sha256').update(text).digest('hex')
  if (status >= 400) {
    note.ended = 'refused'
    note.code = JSON.parse(text).error.code
  } else if (text.startsWith('{')) {
    note.ended = 'whole'
    note.reported = JSON.parse(text).usage.millrace.charge
  } else if (text.endsWith('data: [DONE]\n\n')) {
    note.ended = 'whole'
    note.reported = /"charge":"([\d.]+)"/.exec(text)?.[1]
  } else {
    note.ended = text.includes('"error"') ? 'failed' : 'broken'
  }
}
