import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'

const STAMP = Buffer.from('@T')
const STAMP_DIGITS = 16
/** Connections opened a second: what is measured is streams that run, not how they begin. */
const OPENED_A_SECOND = 500
const SETTLE_MS = 1500

const nowMicros = () => Number(process.hrtime.bigint() / 1000n)

/** A streamed chat request as bytes. */
export function streamRequest({ path = '/v1/chat/completions', headers = {}, model, fill = 900, stream = true }) {
  const messages = [{ role: 'user', content: 'z'.repeat(fill) }]
  const body = JSON.stringify({ model, stream, messages })
  const lines = Object.entries({ host: 'bench', 'content-type': 'application/json', ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}content-length: ${body.length}\r\n\r\n${body}`)
}

const open = ({ port, ca }) =>
  ca === undefined
    ? connect({ port, host: '127.0.0.1', noDelay: true })
    : connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca })

/**
 * So many streams at once, measured for some seconds while all of them run. Of every `sampleEvery`th stream each read is timed: how
 * long ago its last chunk left the provider. `atStart` and `atEnd` are called around the measured seconds.
 */
export async function holdStreams({ target, model, count, seconds, sampleEvery = 1, atStart, atEnd }) {
  const request = streamRequest({ ...target, model })
  const delays = []
  const sockets = []
  let isMeasured = false
  let chunks = 0
  let begun = 0
  let failures = 0
  for (let number = 0; number < count; number++) {
    const socket = open(target)
    sockets.push(socket)
    const isSampled = number % sampleEvery === 0
    let isBegun = false
    socket.on('error', () => {})
    socket.on('close', () => {
      failures += 1
    })
    socket.on('data', (bytes) => {
      if (!isBegun) {
        isBegun = true
        begun += 1
        if (bytes.toString('latin1', 9, 12) !== '200') failures += 1
      }
      if (!isMeasured || !isSampled) return
      const at = bytes.lastIndexOf(STAMP)
      if (at === -1 || at + STAMP.length + STAMP_DIGITS > bytes.length) return
      const from = at + STAMP.length
      delays.push((nowMicros() - Number(bytes.toString('latin1', from, from + STAMP_DIGITS))) / 1000)
      for (let each = bytes.indexOf(STAMP); each !== -1; each = bytes.indexOf(STAMP, each + 1)) chunks += 1
    })
    socket.write(request)
    if (number % 10 === 9) await sleep(10_000 / OPENED_A_SECOND)
  }
  for (let waited = 0; begun < count && waited < 10_000; waited += 50) await sleep(50)
  await sleep(SETTLE_MS)
  const before = atStart?.()
  isMeasured = true
  const began = performance.now()
  await sleep(seconds * 1000)
  isMeasured = false
  const passed = (performance.now() - began) / 1000
  const more = atEnd?.(before, passed)
  const failed = failures + (count - begun)
  for (const socket of sockets) socket.destroy()
  delays.sort((a, b) => a - b)
  const at = (share) => delays[Math.floor(delays.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), chunksASecond: (chunks * sampleEvery) / passed, failures: failed, ...more }
}

/** A pause between two streams of a connection: the server shall be idle, not full. */
const PAUSE_MS = 100

/** Streams one after the other on `count` connections: the time from the request to the first chunk, in milliseconds. */
export async function timeFirstChunks({ target, model, count, streams }) {
  const request = streamRequest({ ...target, model })
  const waits = []
  const client = () =>
    new Promise((resolve, reject) => {
      const socket = open(target)
      let left = Math.ceil(streams / count)
      let sentAt = 0
      let seen = false
      let tail = ''
      const next = () => {
        seen = false
        tail = ''
        sentAt = performance.now()
        socket.write(request)
      }
      socket.on('error', reject)
      socket.on('data', (bytes) => {
        if (!seen && bytes.includes(STAMP)) {
          seen = true
          waits.push(performance.now() - sentAt)
        }
        tail = (tail + bytes.toString('latin1')).slice(-8)
        if (!tail.endsWith('0\r\n\r\n')) return
        left -= 1
        if (left > 0) setTimeout(next, PAUSE_MS)
        else {
          socket.destroy()
          resolve()
        }
      })
      socket.once('connect', () => setTimeout(next, Math.random() * PAUSE_MS))
    })
  await Promise.all(Array.from({ length: count }, client))
  waits.sort((a, b) => a - b)
  return { p50: waits[waits.length >> 1], p99: waits[Math.floor(waits.length * 0.99)] }
}
