import type { ToolName } from '../../../src/model/conversation.ts'
import type { LaneWire } from '../../../src/model/wire.ts'
import { chatDialect } from '../../../src/protocols/chat/dialects.ts'
import { type ChatEncoder, createChatEncoder } from '../../../src/protocols/chat/encoder.ts'
import type { ResponsesEncoder } from '../../../src/protocols/responses/encoder.ts'
import { keepSeals } from '../../../src/protocols/seals/call-seals.ts'
import type { EventReader } from '../../../src/protocols/shared/codec-types.ts'
import { restoreTools } from '../../../src/protocols/tools/restore-tools.ts'
import type { ToolNames } from '../../../src/protocols/tools/tool-names.ts'
import { codecs } from '../../../src/protocols/wires.ts'
import { requestOf } from '../../fixtures/protocols/chat/translate.ts'
import { countedIds } from '../../fixtures/protocols/mint-ids.ts'
import { openEncoder } from '../../fixtures/protocols/responses/encoder.ts'
import { cutAnywhere, type Dice, type Tally } from './dice.ts'
import type { HostileStream } from './hostile-streams.ts'
import { judgeJson, judgeRelay, judgeStream, type Played, playEncoder, withoutForeign } from './play-encoder.ts'
import { compareReadings, type Read, readInPieces, readWhole } from './play-reader.ts'

/** Of each wire the dialects whose reader differs. */
const DIALECTS: Readonly<Record<LaneWire, readonly string[]>> = {
  chat: ['generic', 'deepseek', 'xai'],
  responses: ['generic'],
  anthropic: ['anthropic'],
  gemini: ['google'],
}

export const readerOf = (wire: LaneWire, dialect = DIALECTS[wire][0]!): EventReader =>
  codecs.createEventReader({ dialect: codecs.dialect(wire, dialect), origin: 'lane' }, countedIds())

/** Plays one stream through its reader, whole and cut, and through the encoders above it; throws at what may not be. */
export function playStream({ wire, bytes, dice }: HostileStream, tally: Tally): Read {
  const dialect = dice.pick(DIALECTS[wire])
  const whole = readWhole(readerOf(wire, dialect), bytes)
  const pieces = dice.onceIn(40) ? byteByByte(bytes) : cutAnywhere(dice.random, bytes)
  const cut = readInPieces(readerOf(wire, dialect), pieces)
  compareReadings(whole, cut)
  tally.count('frames', whole.frames)
  tally.count('bytes', bytes.length)
  tally.count('cuts', pieces.length)
  countOutcome(tally, wire, whole)
  const reader = () => withWrappers(dice, readerOf(wire, dialect))
  for (const client of [dice.pick(['chat', 'responses'] as const)]) {
    const delivery = dice.onceIn(6) ? 'json' : 'stream'
    const encoder = client === 'chat' ? chatEncoder(delivery) : responsesEncoder(dice, delivery)
    const played = playEncoder(encoder, encoder.translate(reader()), pieces, dice.between(1, 5))
    if (delivery === 'stream') judgeStream(client, played)
    else judgeJson(client, played)
    tally.count(`${client} client, ${delivery}: ${played.end}`)
  }
  if (wire === 'responses') {
    const played = reEmitted(dice, pieces)
    judgeStream('responses', withoutForeign(played))
    tally.count(`re-emitted: ${played.end}`)
  }
  if (wire === 'chat') {
    const encoder = chatEncoder('stream')
    const played = playEncoder(encoder, encoder.relay({ dialect: chatDialect(dialect) }), pieces, 9)
    judgeRelay(played)
    tally.count(`relayed: ${played.end}`)
  }
  return whole
}

function reEmitted(dice: Dice, pieces: readonly Buffer[]): Played {
  const encoder = responsesEncoder(dice, 'stream')
  return playEncoder(encoder, encoder.relay({ origin: 'lane' }), pieces, dice.between(1, 5))
}

const byteByByte = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.min(bytes.length, 4000) }, (_, at) =>
    bytes.subarray(at, at === 3999 ? bytes.length : at + 1),
  )

function countOutcome(tally: Tally, wire: LaneWire, { events, state, seen }: Read): void {
  const end = state.error
    ? 'an error'
    : state.invalid !== undefined
      ? 'invalid'
      : state.finished
        ? 'finished'
        : 'broken off'
  tally.count(`${wire}: ${end}`)
  tally.count(`${wire}: ${state.usage ? 'counted' : state.inputCounted ? 'only its input counted' : 'not counted'}`)
  tally.count('events', events.length)
  for (const type of seen) tally.count(`${wire} gives ${type}`)
}

/** Of the calls in the streams one is to be decoded. */
const NAMES: ToolNames = {
  upstreamName: ({ name }) => name,
  clientName: (name): ToolName | undefined =>
    name === 'own' ? { name: 'own', namespace: undefined, tool: 'custom' } : undefined,
}

const withWrappers = ({ onceIn }: Dice, reader: EventReader): EventReader => {
  const restored = onceIn(2) ? restoreTools(reader, NAMES) : reader
  return onceIn(2) ? keepSeals(restored, () => {}) : restored
}

export const responsesEncoder = ({ onceIn }: Dice, delivery: 'stream' | 'json'): ResponsesEncoder =>
  openEncoder({
    fields: {
      ...(onceIn(2) ? { include: ['reasoning.encrypted_content'] } : {}),
      ...(onceIn(2) ? { reasoning: { summary: 'auto' } } : {}),
    },
    delivery,
  })

export const chatEncoder = (delivery: 'stream' | 'json'): ChatEncoder =>
  createChatEncoder({
    request: requestOf({
      ...{ messages: [{ role: 'user', content: 'q' }], stream: delivery === 'stream' },
      ...(delivery === 'stream' ? { stream_options: { include_usage: true } } : {}),
    }),
    ...{ model: 'mill-1', requestId: 'req_1', mint: countedIds(), now: () => 1_800_000_000_000 },
  })
