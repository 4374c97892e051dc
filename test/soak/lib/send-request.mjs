import { request } from 'node:http'
import { connect } from 'node:net'

/** Enough of the end to hold a whole last event of usual size; what tells the charge is searched in the last of it. */
const TAIL_BYTES = 4096

/**
 * Sends one request and resolves to what became of it. `ended`: whole · refused (an error status, with `code`) · failed (an
 * error inside the stream) · aborted (by us) · broken (cut without a word).
 */
export function send({ port, agent, sendTurn, method = 'POST', path, body }) {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  return new Promise((resolve) => {
    const note = { ended: undefined, id: undefined, status: undefined, code: undefined, charge: undefined }
    const outgoing = request({ port, agent, host: '127.0.0.1', method, path })
    const timer =
      sendTurn.abortAfterMs === undefined ? undefined : setTimeout(() => abort(note, outgoing), sendTurn.abortAfterMs)
    outgoing.on('response', (response) => readAnswer(note, response))
    outgoing.on('error', (error) => {
      note.error ??= error.code
    })
    outgoing.on('close', () => {
      clearTimeout(timer)
      note.ended ??= 'broken'
      resolve(note)
    })
    outgoing.setHeader('authorization', `Bearer ${sendTurn.account.key}`)
    if (sendTurn.once) outgoing.setHeader('idempotency-key', sendTurn.once)
    if (bytes) outgoing.setHeader('content-type', 'application/json')
    outgoing.end(bytes)
  })
}

function abort(note, outgoing) {
  if (note.ended) return
  note.ended = 'aborted'
  outgoing.destroy()
}

function readAnswer(note, response) {
  note.status = response.statusCode
  note.id = response.headers['x-request-id']
  note.replayed = response.headers['idempotency-replayed'] === 'true'
  let head = ''
  let tail = ''
  let errors = false
  response.setEncoding('latin1')
  response.on('data', (text) => {
    if (head.length < TAIL_BYTES) head += text
    errors ||= text.includes('event: error') || text.includes('data: {"error"')
    tail = (tail + text).slice(-Math.max(TAIL_BYTES, text.length))
  })
  response.on('error', () => {})
  response.on('end', () => judge(note, { head, tail, errors, streamed: isStream(response) }))
}

const isStream = (response) => response.headers['content-type']?.startsWith('text/event-stream')

function judge(note, { head, tail, errors, streamed }) {
  if (note.ended) return
  note.responseId = /"id":"(resp_[\w-]+)"/.exec(head)?.[1]
  note.charge = [...tail.matchAll(/"charge":"([\d.]+)"/g)].at(-1)?.[1]
  if (note.status >= 400) {
    note.ended = 'refused'
    note.code = /"code":"(\w+)"/.exec(head)?.[1] ?? `status ${note.status}`
  } else if (errors) note.ended = 'failed'
  else if (!streamed || tail.endsWith('data: [DONE]\n\n')) note.ended = 'whole'
  else note.ended = 'broken'
}

/**
 * Asks and reads nothing: paused before it is connected, so that the kernel's buffers do not grow either. A socket that is
 * not read does not learn of its end, so who has waited `patienceMs` looks: `givenUp` if the server has cut it, `served` if the
 * rest still comes. Others go away without looking, then or when all are to `leave`: `leftAlone`.
 */
export function sendWithoutReading({ port, sendTurn, path, patienceMs, looks, leave }) {
  const body = JSON.stringify(sendTurn.body)
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.pause()
    const end = (ended) => {
      clearTimeout(timer)
      leave.removeEventListener('abort', leaveAlone)
      socket.destroy()
      resolve({ ended })
    }
    const leaveAlone = () => end('leftAlone')
    const look = () => {
      let tail = ''
      socket.on('data', (bytes) => {
        tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - 64))).slice(-64)
        if (tail.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n')) end('served')
      })
      // A socket that was paused explicitly does not resume when a listener is added.
      socket.resume()
    }
    const timer = setTimeout(looks ? look : leaveAlone, patienceMs)
    leave.addEventListener('abort', leaveAlone)
    socket.on('error', () => end('givenUp'))
    socket.on('close', () => end('givenUp'))
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: soak\r\nauthorization: Bearer ${sendTurn.account.key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  })
}
