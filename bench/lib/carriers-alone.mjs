import { createChatEncoder } from '../../dist/protocols/chat/encoder.js'
import { ResponsesEncoder } from '../../dist/protocols/responses/encoder.js'
import { FrameSplitter } from '../../dist/protocols/sse/frames.js'
import { codecs } from '../../dist/protocols/wires.js'
import { median } from './measure.mjs'
import { FRAMES } from './mock-frames.mjs'

const FRAMES_A_STREAM = 200
const STREAMS = 400
const ROUNDS = 7

let minted = 0
const mint = {
  completionId: () => `chatcmpl-${++minted}`,
  responseId: () => `resp_${++minted}`,
  callId: () => `call_${++minted}`,
  itemId: (prefix) => `${prefix}_${String(++minted).padStart(30, '0')}`,
}
const now = () => 1_760_000_000_000
const request = (protocol) => ({
  ...{ protocol, model: 'public', delivery: 'stream', wantsUsage: false, choices: 1 },
  body: { bytes: Buffer.from('{}'), members: [] },
  ...{ rewritten: new Map(), previousResponseId: undefined, effort: undefined, functionForm: false },
})
const chatEncoder = () =>
  createChatEncoder({ request: request('chat'), model: 'public', requestId: 'req_1', mint, now })
const responsesEncoder = () =>
  new ResponsesEncoder({
    ...{ request: request('responses'), model: 'public', effort: undefined, requestId: 'req_1', mint, now },
    ...{ mayOpen: () => true, responseId: mint.responseId(), createdAt: 1_760_000_000 },
  })
const dialect = (wire) => codecs.dialect(wire, 'openai')
const reader = (wire) => codecs.createEventReader({ dialect: dialect(wire), origin: 'lane' }, mint)

const ROUTES = [
  { name: 'Chat, relayed', lane: 'chat', open: () => chatEncoder().relay({ dialect: dialect('chat') }) },
  {
    name: 'Responses, re-emitted',
    lane: 'responses',
    open: () => responsesEncoder().relay({ origin: 'lane' }),
  },
  { name: 'Chat lane, Responses client', lane: 'chat', open: () => responsesEncoder().translate(reader('chat')) },
  { name: 'Responses lane, Chat client', lane: 'responses', open: () => chatEncoder().translate(reader('responses')) },
  { name: 'Anthropic lane, Chat client', lane: 'anthropic', open: () => chatEncoder().translate(reader('anthropic')) },
  {
    name: 'Anthropic lane, Responses client',
    lane: 'anthropic',
    open: () => responsesEncoder().translate(reader('anthropic')),
  },
  { name: 'Gemini lane, Chat client', lane: 'gemini', open: () => chatEncoder().translate(reader('gemini')) },
]

/** What frames take from a read of the provider to the bytes for the client. */
export function adaptersAlone() {
  console.log(
    `carriers alone: ${FRAMES_A_STREAM} frames a stream, ${STREAMS} streams a round, ${ROUNDS} rounds in rotation, median; us a frame\n`,
  )
  console.log(`| reads | ${ROUTES.map(({ name }) => name).join(' | ')} |`)
  console.log(`|---|${ROUTES.map(() => '---|').join('')}`)
  for (const style of ['plain', 'padded']) {
    for (const cut of ['bulk', 'alone']) console.log(row(`${cut}, ${style}`, style, cut))
  }
  console.log('')
}

function row(title, style, cut) {
  const results = new Map(ROUTES.map((route) => [route, []]))
  const reads = new Map(ROUTES.map((route) => [route, readsOf(FRAMES[route.lane]('c', FRAMES_A_STREAM, style), cut)]))
  for (let round = -2; round < ROUNDS; round++) {
    for (const route of ROUTES) {
      const micros = time(route, reads.get(route))
      if (round >= 0) results.get(route).push(micros)
    }
  }
  const figures = ROUTES.map((route) => median(results.get(route)))
  return `| ${title} | ${figures.map((micros) => `${micros.toFixed(2)} (${(micros / figures[0]).toFixed(2)})`).join(' | ')} |`
}

const readsOf = ({ opening, words, ending }, cut) =>
  cut === 'bulk'
    ? [Buffer.from(opening + words.join('') + ending)]
    : [opening, ...words, ending].map((text) => Buffer.from(text))

function time({ open }, reads) {
  const before = performance.now()
  for (let stream = 0; stream < STREAMS; stream++) {
    const adapter = open()
    const splitter = new FrameSplitter({ frameBytesMax: 1024 * 1024 })
    for (const read of reads) readBytes(adapter, splitter, read)
  }
  return ((performance.now() - before) * 1000) / (STREAMS * FRAMES_A_STREAM)
}

/** As a turn does with a read; what it hands on is one piece. */
function readBytes(adapter, splitter, read) {
  const pieces = []
  splitter.push(read)
  while (!adapter.state.done) {
    const encoded = adapter.readRepeated?.(splitter) ?? next(adapter, splitter)
    if (encoded === undefined) break
    if (encoded.bytes) pieces.push(Buffer.from(encoded.bytes))
  }
  return pieces.length > 1 ? Buffer.concat(pieces) : pieces[0]
}

function next(adapter, splitter) {
  const frame = splitter.next()
  return frame && adapter.read(frame)
}
