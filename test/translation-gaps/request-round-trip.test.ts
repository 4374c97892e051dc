import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Conversation } from '../../src/model/conversation.ts'
import type { Protocol, TurnRequest } from '../../src/model/turn.ts'
import { chatDialect } from '../../src/protocols/chat/dialects.ts'
import { responsesDialect, SEALED_REASONING } from '../../src/protocols/responses/dialects.ts'
import { codecs, type LaneDialect } from '../../src/protocols/wires.ts'
import { requestOf } from '../fixtures/protocols/chat/translate.ts'
import { conversationIn } from '../fixtures/protocols/conversation-in.ts'
import { laneTarget } from '../fixtures/protocols/lane-target.ts'
import { requestOf as responsesRequestOf } from '../fixtures/protocols/responses/read-request.ts'
import { lossesIntoChat } from './gaps-into-chat.ts'
import { lossesIntoResponses } from './gaps-into-responses.ts'
import type { KnownLoss } from './known-gaps.ts'
import { lossRows } from './loss-pages.ts'
import { type RandomRequest, randomChatRequest, randomResponsesRequest } from './random-requests.ts'

const SEED = 20_264
const RUNS = Number(process.env.RANDOM_TURNS ?? 200)

const askedIn = (protocol: Protocol, body: object): TurnRequest =>
  protocol === 'chat' ? requestOf(body) : responsesRequestOf({ model: 'm', ...body })

/** Of a protocol that clients speak too. */
type ClientDialect = Extract<LaneDialect, { readonly wire: Protocol }>

/** What the protocol of a lane leaves of a conversation, read as if a client had sent it. */
function relayed(conversation: Conversation, dialect: ClientDialect): Conversation {
  const body = JSON.parse(JSON.stringify(codecs.writeRequest(conversation, laneTarget(dialect)).body))
  // The gateway asks every server that seals for this, whether the client wants it or not.
  if (Array.isArray(body.include)) body.include = body.include.filter((what: string) => what !== SEALED_REASONING)
  return conversationIn(askedIn(dialect.wire, body))
}

interface Leg {
  readonly dialect: ClientDialect
  readonly page: string
  readonly losses: readonly KnownLoss[]
}

const intoChat = (name: string): Leg => {
  const dialect = chatDialect(name)
  return { dialect, page: 'responses-to-chat', losses: lossesIntoChat(dialect) }
}
const intoResponses = (name: string): Leg => {
  const dialect = responsesDialect(name)
  return { dialect, page: 'chat-to-responses', losses: lossesIntoResponses(dialect) }
}

const WAYS = [
  ...['generic', 'openai'].map((name) => ({
    way: `responses to chat and back, ${name}`,
    ...{ from: 'responses' as const, requests: randomResponsesRequest },
    legs: [intoChat(name), intoResponses(name)],
  })),
  ...['generic', 'openai'].map((name) => ({
    way: `chat to responses and back, ${name}`,
    ...{ from: 'chat' as const, requests: randomChatRequest },
    legs: [intoResponses(name), intoChat(name)],
  })),
]

const BOTH = ['role system', 'role developer', 'role user', 'role assistant', 'type function', 'type custom']
const CHOICES = ['auto', 'none', 'required', 'function', 'custom', 'allowed_tools'].map((form) => `choice ${form}`)
/** What has to come often enough for the run to mean anything. */
const KINDS: Readonly<Record<Protocol, readonly string[]>> = {
  chat: [...BOTH, ...CHOICES, 'role tool', 'type image_url', 'type file', 'type input_audio', 'type grammar'],
  responses: [
    ...[...BOTH, ...CHOICES, 'type namespace', 'type reasoning', 'type refusal', 'type output_text'],
    ...['type function_call', 'type function_call_output', 'type custom_tool_call', 'type custom_tool_call_output'],
    ...['type input_image', 'type input_file', 'type input_audio', 'type grammar'],
  ],
}

it.each(WAYS)(
  'random conversations lose what is known and nothing else: $way',
  { timeout: 60_000 },
  ({ way, from, requests, legs }) => {
    const counts: Record<string, number> = {}
    const used = new Set<KnownLoss>()
    const left = (conversation: Conversation, { losses }: Leg): Conversation =>
      losses.reduce((before, loss) => {
        const after = loss.apply(before)
        if (JSON.stringify(after) !== JSON.stringify(before)) used.add(loss)
        return after
      }, conversation)
    fc.assert(
      fc.property(requests as fc.Arbitrary<RandomRequest>, ({ body, kinds }) => {
        for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1
        let conversation = conversationIn(askedIn(from, body))
        for (const leg of legs) {
          const after = relayed(conversation, leg.dialect)
          expect(after).toEqual(left(conversation, leg))
          conversation = after
        }
      }),
      { seed: SEED, numRuns: RUNS },
    )
    console.info(`${way}: seed ${SEED}, ${RUNS} requests`, counts)
    const [first] = legs as [Leg]
    const rows = new Set(lossRows(first.page, 'The request').map((row) => row.split(' | ')[0]))
    expect(first.losses.flatMap((loss) => loss.rows).filter((row) => !rows.has(row))).toEqual([])
    if (way.endsWith('generic'))
      expect(first.losses.filter((loss) => !used.has(loss)).map((loss) => loss.rows)).toEqual([])
    expect(KINDS[from].filter((kind) => !((counts[kind] ?? 0) > RUNS / 30))).toEqual([])
  },
)
