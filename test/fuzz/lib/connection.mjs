import { connect } from 'node:net'

/** Longer than any timeout that the server has for what is sent here. */
const HANG_MS = 20_000
const HEAD_END = '\r\n\r\n'

/** A connection to the server, one exchange after the other. */
export async function openConnection(port) {
  const socket = connect({ host: '127.0.0.1', port })
  let bytes = Buffer.alloc(0)
  let over = false
  let wake = () => {}
  let failure
  let before = 'nothing'
  socket.setNoDelay(true)
  // A server that refuses may reset a connection that it stops reading; what it has sent before that counts.
  socket.on('error', (error) => {
    failure = error.code
  })
  socket.on('data', (more) => {
    bytes = bytes.length === 0 ? more : Buffer.concat([bytes, more])
    wake()
  })
  for (const event of ['end', 'close'])
    socket.on(event, () => {
      over = true
      wake()
    })
  await new Promise((resolve) => {
    wake = resolve
    socket.once('connect', resolve)
  })

  const more = (ms) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms, false)
      wake = () => {
        clearTimeout(timer)
        resolve(true)
      }
    })

  return {
    get isOver() {
      return over || socket.destroyed
    },
    close: () => socket.destroy(),
    /** Of a whole request its one answer; of what is none whatever comes until the server closes. */
    async exchange({ pieces, isWhole, isHead }) {
      const until = performance.now() + HANG_MS
      const answers = []
      for (const piece of pieces) {
        if (over) break
        socket.write(piece)
        if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve))
      }
      if (!isWhole) socket.end()
      for (;;) {
        const found = readAnswer(bytes, isHead, over)
        if (found) {
          bytes = bytes.subarray(found.length)
          if (found.answer.status >= 200) answers.push(found.answer)
          if (isWhole && answers.length > 0) break
          continue
        }
        if (over) break
        if (!(await more(until - performance.now()))) {
          socket.destroy()
          return { answers, closed: false, hung: true, rest: bytes, before, failure }
        }
      }
      const isLast = answers.at(-1)?.headers.get('connection') === 'close'
      if (isLast || !isWhole) socket.destroy()
      const came = { answers, closed: over || isLast || !isWhole, hung: false, rest: bytes, before, failure }
      // What a connection has been through explains what becomes of it.
      before = `${firstLine(pieces)} (${answers.map(({ status }) => status).join()})`
      return came
    },
  }
}

const firstLine = (pieces) => Buffer.concat(pieces).toString('latin1', 0, 80).split('\r\n')[0]

function readAnswer(bytes, isHead, isOver) {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd < 0) return undefined
  const [first = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
  const headers = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), headerValue(line)]))
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1])
  const start = headEnd + HEAD_END.length
  const hasBody = !isHead && status >= 200 && status !== 204 && status !== 304
  const body = hasBody ? readBody(bytes, start, headers, isOver) : { content: Buffer.alloc(0), end: start }
  if (body === undefined) return undefined
  const raw = bytes.subarray(0, body.end)
  return { length: body.end, answer: { status, headers, body: body.content, raw } }
}

const headerValue = (line) => line.slice(line.indexOf(':') + 1).trim()

function readBody(bytes, start, headers, isOver) {
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(bytes, start)
  const length = headers.get('content-length')
  if (length === undefined) return isOver ? { content: bytes.subarray(start), end: bytes.length } : undefined
  const end = start + Number(length)
  return end <= bytes.length ? { content: bytes.subarray(start, end), end } : undefined
}

function readChunks(bytes, start) {
  const parts = []
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    const end = lineEnd + 2 + size
    if (end + 2 > bytes.length) return undefined
    if (size === 0) return { content: Buffer.concat(parts), end: end + 2 }
    parts.push(bytes.subarray(lineEnd + 2, end))
    at = end + 2
  }
}
