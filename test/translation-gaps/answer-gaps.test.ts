import { describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../src/model/event.ts'
import type { Protocol } from '../../src/model/turn.ts'
import { chatDialect } from '../../src/protocols/chat/dialects.ts'
import { createChatEncoder } from '../../src/protocols/chat/encoder.ts'
import { responsesDialect } from '../../src/protocols/responses/dialects.ts'
import type { ClientEncoder, EventReader } from '../../src/protocols/shared/codec-types.ts'
import { DONE_FRAME, FrameSplitter } from '../../src/protocols/sse/frames.ts'
import { codecs, type LaneDialect } from '../../src/protocols/wires.ts'
import { requestOf, SETTLED } from '../fixtures/protocols/chat/translate.ts'
import { collectReply } from '../fixtures/protocols/collect-reply.ts'
import { encodedBytes } from '../fixtures/protocols/encoded-bytes.ts'
import { countedIds } from '../fixtures/protocols/mint-ids.ts'
import { openEncoder } from '../fixtures/protocols/responses/encoder.ts'
import { ANSWER_SPECIMENS, SEALED, type Told } from './answer-specimens.ts'
import { fateOf, lossRows } from './loss-pages.ts'
import type { Specimen } from './specimen.ts'

/** One way back: the lane's language, and the client's. */
interface Way {
  readonly page: string
  readonly lane: Protocol
  readonly client: Protocol
}

const WAYS: readonly Way[] = [
  { page: 'responses-to-chat', lane: 'chat', client: 'responses' },
  { page: 'chat-to-responses', lane: 'responses', client: 'chat' },
]

const DIALECTS: Readonly<Record<Protocol, LaneDialect>> = {
  chat: chatDialect('generic'),
  responses: responsesDialect('generic'),
}
/** Of a server that wants its reasoning back. */
const SEALS = new Map([[SEALED, chatDialect('deepseek')]])

/** A client that wants to know everything. */
const openClient = (client: Protocol): ClientEncoder =>
  client === 'responses'
    ? openEncoder({ fields: { include: ['reasoning.encrypted_content'] } })
    : createChatEncoder({
        request: requestOf({
          messages: [{ role: 'user', content: 'q' }],
          stream: true,
          stream_options: { include_usage: true },
        }),
        ...{ model: 'mill-1', requestId: 'req_1', mint: countedIds(), now: () => 1_800_000_000_000 },
      })

const framesOf = (delivered: Told): Buffer[] =>
  delivered.map((json) => Buffer.from(`data: ${JSON.stringify(json)}\n\n`))
const readerFor = (dialect: LaneDialect): EventReader =>
  codecs.createEventReader({ dialect, origin: 'lane' }, countedIds())

function splitFrames(bytes: Buffer): Buffer[] {
  const splitter = new FrameSplitter({ frameBytesMax: 1024 * 1024 })
  splitter.push(bytes)
  const frames: Buffer[] = []
  for (let frame = splitter.next(); frame; frame = splitter.next()) frames.push(frame)
  return frames
}

interface ReadAnswer {
  readonly events: readonly TurnEvent[]
  readonly meaning: unknown
}

function readFrames(dialect: LaneDialect, frames: readonly Buffer[]): ReadAnswer {
  const reader = readerFor(dialect)
  const events = [...frames, DONE_FRAME].flatMap((frame) => [...reader.read(frame)])
  const { usage } = reader.state
  // Counts that come behind the end are no event.
  if (usage) events.push({ type: 'usage', usage })
  return { events, meaning: { ...collectReply(events), usage: usage ?? NONE } }
}

const NONE = { uncachedInput: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** What the client is told of what a lane has said, and what it understands by that. */
function carry({ lane, client }: Way, delivered: Told, what: string): { meant: ReadAnswer; understood: ReadAnswer } {
  const dialect = SEALS.get(what) ?? DIALECTS[lane]
  const frames = framesOf(delivered)
  const adapter = openClient(client).translate(readerFor(dialect))
  const emitted = frames.map((frame) => encodedBytes(adapter.read(frame).bytes))
  const usage = { ...(adapter.state.usage ?? NONE), estimated: false }
  const stream = Buffer.concat([...emitted, adapter.close({ ...SETTLED, usage })])
  return { meant: readFrames(dialect, frames), understood: readFrames(DIALECTS[client], splitFrames(stream)) }
}

function rowOf(way: Way, { what, without, with: withIt }: Specimen): string[] {
  const [before, after] = [carry(way, without as Told, what), carry(way, withIt as Told, what)]
  const fate = fateOf(
    { with: after.meant.meaning, without: before.meant.meaning },
    { with: after.understood.meaning, without: before.understood.meaning },
  )
  return fate === 'kept' ? [] : [`${what} | ${fate}`]
}

describe.each(WAYS)('an answer of a lane that speaks $lane, for a client of $client', (way) => {
  const { byEvent, beside } = ANSWER_SPECIMENS[way.lane]
  const specimens = [...Object.values(byEvent).flat(), ...beside]

  it('loses what the page says, and nothing else', () => {
    const rows = specimens.flatMap((specimen) => rowOf(way, specimen))
    expect(lossRows(way.page, 'The answer')).toEqual(rows)
  })

  it('is looked at event by event', () => {
    const typesIn = (each: Specimen) => carry(way, each.with as Told, each.what).meant.events.map(({ type }) => type)
    const made = new Set(specimens.flatMap(typesIn))
    for (const [type, its] of Object.entries(byEvent)) {
      const [first] = its
      if (first === undefined) expect(made, type).not.toContain(type)
      else expect(its.flatMap(typesIn), type).toContain(type)
    }
  })
})
