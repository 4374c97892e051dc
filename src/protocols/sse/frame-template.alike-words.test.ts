import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import { bytesOf, FIXTURES, SETTLED } from '../../../test/fixtures/protocols/responses/answers.ts'
import { openEncoder, requestWith } from '../../../test/fixtures/protocols/responses/encoder.ts'
import { alikeStreams, cutAnywhere } from '../../../test/fixtures/protocols/sse/alike-streams.ts'
import type { ToolName } from '../../model/conversation.ts'
import { createChatEncoder } from '../chat/encoder.ts'
import { codecs } from '../codecs.ts'
import type { ClientEncoder, EncodedFrame, StreamAdapter } from '../shared/client-encoder.ts'
import { readAnswerTool } from '../tools/answer-tool.ts'
import { restoreTools } from '../tools/restore-tools.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import { createFrameSplitter } from './split-frames.ts'

/** One answer on its way, and whatever else can be seen of it. */
interface Speaking {
  readonly voice: ClientEncoder
  readonly adapter: StreamAdapter
  standing(): unknown
}

/** Of the calls in the streams one is to be decoded. */
const NAMES: ToolNames = {
  upstreamName: ({ name }) => name,
  clientName: (name): ToolName | undefined =>
    name === 'f' ? { name: 'own', namespace: undefined, tool: 'custom' } : undefined,
}
const readerOf = (wire: 'chat' | 'responses' | 'anthropic', dialect = 'generic') =>
  restoreTools(
    codecs.createEventReader({ dialect: codecs.dialect(wire, dialect), origin: 'lane' }, countedIds()),
    NAMES,
  )
const responsesEncoder = () =>
  openEncoder({ fields: { include: ['reasoning.encrypted_content'] }, others: { mint: countedIds() } })
const chatEncoder = () =>
  createChatEncoder({
    request: { ...requestWith(), protocol: 'chat', wantsUsage: true, functionForm: false },
    ...{ model: 'pub"lic ä', requestId: 'req_1', mint: countedIds(), now: () => 1_800_000_000_000 },
  })

const ROADS: Readonly<Record<string, { readonly lane: 'chat' | 'responses' | 'anthropic'; open(): Speaking }>> = {
  'a re-emitted answer': {
    lane: 'responses',
    open() {
      const voice = responsesEncoder()
      return {
        voice,
        adapter: voice.relay({ origin: 'lane' }),
        standing: voice.storedItems,
      }
    },
  },
  'Chat for a Responses client': {
    lane: 'chat',
    open() {
      const voice = responsesEncoder()
      return { voice, adapter: voice.translate(readerOf('chat')), standing: voice.storedItems }
    },
  },
  'Chat for a Responses client that wants JSON': {
    lane: 'chat',
    open() {
      const voice = openEncoder({ delivery: 'json', others: { mint: countedIds() } })
      return { voice, adapter: voice.translate(readerOf('chat')), standing: voice.storedItems }
    },
  },
  'Chat that wants its reasoning back, for a Responses client': {
    lane: 'chat',
    open() {
      const voice = responsesEncoder()
      return { voice, adapter: voice.translate(readerOf('chat', 'deepseek')), standing: voice.storedItems }
    },
  },
  'Responses for a Responses client that has its tools translated': {
    lane: 'responses',
    open() {
      const voice = responsesEncoder()
      return { voice, adapter: voice.translate(readerOf('responses')), standing: voice.storedItems }
    },
  },
  'Anthropic for a Responses client': {
    lane: 'anthropic',
    open() {
      const voice = responsesEncoder()
      return { voice, adapter: voice.translate(readerOf('anthropic')), standing: voice.storedItems }
    },
  },
  'Anthropic for a Chat client': {
    lane: 'anthropic',
    open() {
      const voice = chatEncoder()
      return { voice, adapter: voice.translate(readerOf('anthropic')), standing: () => undefined }
    },
  },
  'Anthropic whose answer is the input of a tool': {
    lane: 'anthropic',
    open() {
      const voice = chatEncoder()
      const reader = readAnswerTool(readerOf('anthropic'), 'call')
      return { voice, adapter: voice.translate(reader), standing: () => undefined }
    },
  },
  'Responses for a Chat client': {
    lane: 'responses',
    open() {
      const voice = chatEncoder()
      return { voice, adapter: voice.translate(readerOf('responses')), standing: () => undefined }
    },
  },
}

/** Reads a stream as a turn does, with or without what knows frames by sight; `pauses` are the reads behind which it is silent. */
function readStream(speaking: Speaking, pieces: readonly Buffer[], pauses: ReadonlySet<number>, bySight: boolean) {
  const { adapter, voice } = speaking
  const splitter = createFrameSplitter({ frameBytesMax: 1024 * 1024 })
  const seen: unknown[] = []
  let alike = 0
  for (const [at, piece] of pieces.entries()) {
    splitter.push(piece)
    let said = ''
    let isContent = false
    while (!adapter.state.done && adapter.state.invalid === undefined && adapter.state.error === undefined) {
      let carried: EncodedFrame | undefined = bySight ? adapter.readTemplated(splitter) : undefined
      if (carried) alike += carried.bytes === undefined ? 1 : String(carried.bytes).split('data: ').length - 1
      else {
        const frame = splitter.next()
        carried = frame && adapter.read(frame)
      }
      if (carried === undefined) break
      said += carried.bytes?.toString('latin1') ?? ''
      isContent ||= carried.isContent
    }
    const silence = pauses.has(at) ? voice.keepAlive()?.toString() : undefined
    seen.push({ said, isContent, silence, state: structuredClone(adapter.state), standing: speaking.standing() })
  }
  const last = adapter.state.finished ? adapter.close(SETTLED).toString() : undefined
  return { seen, last, standing: speaking.standing(), alike }
}

function compare(open: () => Speaking, pieces: readonly Buffer[], pauses: ReadonlySet<number>): number {
  const parsed = readStream(open(), pieces, pauses, false)
  const { alike, ...bySight } = readStream(open(), pieces, pauses, true)
  expect(bySight).toEqual({ seen: parsed.seen, last: parsed.last, standing: parsed.standing })
  return alike
}

describe.each(Object.entries(ROADS))('%s', (_, { lane, open }) => {
  it('is the same whether its frames are parsed or known by sight, however it is cut', () => {
    const seed = 20_264
    const streams = alikeStreams(randomFrom(seed))
    const tally = { streams: 400, frames: 0, alike: 0, streamsWithAlike: 0 }
    for (let stream = 0; stream < tally.streams; stream++) {
      const frames = streams[lane]()
      const pieces = cutAnywhere(streams.random, Buffer.concat(frames))
      const pauses = new Set([streams.random(8), streams.random(8)])
      try {
        const alike = compare(open, pieces, pauses)
        tally.frames += frames.length
        tally.alike += alike
        if (alike > 0) tally.streamsWithAlike++
      } catch (error) {
        throw new Error(`seed ${seed}, stream ${stream}: ${frames.join('')}`, { cause: error })
      }
    }
    console.info(`alike-words: seed ${seed}, ${JSON.stringify(tally)}`)
    expect(tally.alike).toBeGreaterThan(tally.frames / 25)
  }, 60_000)

  const fixtures = lane === 'responses' ? FIXTURES : []
  it.each(fixtures)('is the same for %s, frame by frame and in one', (fixture) => {
    const bytes = bytesOf(fixture)
    compare(open, [bytes], new Set([0]))
    for (const length of [3, 64]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) =>
        bytes.subarray(at * length, (at + 1) * length),
      )
      compare(open, pieces, new Set([5, 20]))
    }
  })
})
