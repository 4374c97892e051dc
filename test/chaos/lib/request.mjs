import { request } from 'node:http'
import { bodyOf, pathOf, readEvent, readWhole } from './answer.mjs'

/**
 * Sends one request and writes down what a client can know of it, as it comes. Resolves when nothing more can come.
 * `ended`: done · refused (an error status) · failed (an error inside the stream) · aborted (by us) · broken (the server
 * died) · unsent (no server to connect to). `onSeen` is called with the note whenever something has been added to it.
 */
export function sendRequest({ port, agent, sendTurn, onSeen = () => {} }) {
  const note = {
    sendTurn,
    id: undefined,
    replayed: false,
    /** Whose answer it is: its own, or that of the first request with its Idempotency-Key. */
    original: undefined,
    /** Of an answer with an Idempotency-Key the bytes themselves, without signs of life. */
    raw: '',
    startedAt: Date.now(),
    status: undefined,
    retryAfter: undefined,
    code: undefined,
    text: '',
    /** When how many bytes of content were there. */
    arrivals: [],
    bodyBytes: 0,
    reported: undefined,
    done: false,
    ended: undefined,
    endedAt: undefined,
  }
  return new Promise((resolve) => {
    const outgoing = request({ port, agent, host: '127.0.0.1', method: 'POST', path: pathOf(sendTurn) })
    const seen = () => {
      onSeen(note)
      if (sendTurn.abort?.afterWords <= countWords(note.text)) abort()
    }
    const abort = () => {
      if (note.done || note.ended) return
      note.ended = 'aborted'
      note.endedAt = Date.now()
      onSeen(note)
      outgoing.destroy()
    }
    const timer = sendTurn.abort?.afterMs === undefined ? undefined : setTimeout(abort, sendTurn.abort.afterMs)
    outgoing.on('response', (response) => {
      note.id = response.headers['x-request-id']
      note.replayed = response.headers['idempotency-replayed'] === 'true'
      note.original = note.replayed ? response.headers['x-original-request-id'] : note.id
      note.status = response.statusCode
      note.retryAfter = response.headers['retry-after']
      onSeen(note)
      readAnswer(response, note, seen)
    })
    outgoing.on('error', (error) => {
      if (error.code === 'ECONNREFUSED') note.ended ??= 'unsent'
    })
    outgoing.on('close', () => {
      clearTimeout(timer)
      note.ended ??= endOf(note)
      note.endedAt ??= Date.now()
      resolve(note)
    })
    outgoing.setHeader('authorization', `Bearer ${sendTurn.key}`)
    outgoing.setHeader('content-type', 'application/json')
    if (sendTurn.once !== undefined) outgoing.setHeader('idempotency-key', sendTurn.once)
    if (sendTurn.run !== undefined) outgoing.setHeader('x-millrace-run', sendTurn.run)
    outgoing.end(JSON.stringify(bodyOf(sendTurn)))
  })
}

const countWords = (text) => (text === '' ? 0 : text.split(' ').length)

function endOf(note) {
  if (note.done) return 'done'
  if (note.status >= 400 && note.code !== undefined) return 'refused'
  return note.code === undefined ? 'broken' : 'failed'
}

function readAnswer(response, note, seen) {
  const streamed = response.headers['content-type']?.startsWith('text/event-stream')
  let buffered = ''
  response.setEncoding('utf8')
  response.on('data', (text) => {
    if (note.ended) return
    note.bodyBytes += text.length
    buffered += text
    if (!streamed) return
    const frames = buffered.split('\n\n')
    buffered = frames.pop()
    if (note.sendTurn.once !== undefined)
      note.raw += frames
        .filter(isEmitted)
        .map((frame) => `${frame}\n\n`)
        .join('')
    for (const frame of frames) readFrame(note, frame)
    seen()
  })
  response.on('end', () => {
    if (note.ended || streamed) return
    if (note.sendTurn.once !== undefined) note.raw = buffered
    readWhole(note, JSON.parse(buffered))
    seen()
  })
  response.on('error', () => {})
}

const isEmitted = (frame) => !frame.startsWith(': ')

function readFrame(note, frame) {
  const data = frame.split('\n').find((line) => line.startsWith('data: '))
  if (data === undefined) return
  if (data === 'data: [DONE]') {
    note.done = true
    return
  }
  readEvent(note, JSON.parse(data.slice('data: '.length)))
}
