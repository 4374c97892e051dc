import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Gateway, openGateway, type ReceivedAnswer } from '../../test/fixtures/gateway/growing-conversation.ts'
import { brokenPrefix, renderedOf } from '../../test/fixtures/gateway/rendered-prompt.ts'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import type { PlainAnswer } from '../../test/fuzz/streams/answer-frames.ts'
import { type Dice, diceOf } from '../../test/fuzz/streams/dice.ts'
import { randomChatRequest, randomResponsesRequest } from '../../test/translation-gaps/random-requests.ts'
import type { Lane } from '../catalog/catalog.ts'
import type { Fields } from '../lib/types.ts'
import { effortOf, type ModelTraits } from '../model/effort.ts'
import type { LaneWire } from '../model/wire.ts'
import { ANTHROPIC_DIALECTS } from '../protocols/anthropic/dialects.ts'
import { CHAT_DIALECTS } from '../protocols/chat/dialects.ts'
import { GEMINI_DIALECTS } from '../protocols/gemini/dialects.ts'
import { RESPONSES_DIALECTS } from '../protocols/responses/dialects.ts'

const SEED = 20_281
/** RANDOM_CONVERSATIONS=20000 for a long run. */
const RUNS = Number(process.env.RANDOM_CONVERSATIONS ?? 300)
const TURNS = 5

const DIALECTS: Readonly<Record<LaneWire, readonly { readonly name: string }[]>> = {
  ...{ chat: CHAT_DIALECTS, responses: RESPONSES_DIALECTS, anthropic: ANTHROPIC_DIALECTS, gemini: GEMINI_DIALECTS },
}

const traits: fc.Arbitrary<Partial<ModelTraits>> = fc.record(
  {
    efforts: fc.constantFrom<ModelTraits['efforts']>({ none: 'disabled', low: 2000, high: 9000 }, { low: 'low' }),
    jsonSchema: fc.constantFrom('native', 'tool', 'none'),
    signedCalls: fc.boolean(),
    systemPrompt: fc.boolean(),
  },
  { requiredKeys: [] },
)

const lanes: fc.Arbitrary<Lane> = fc
  .constantFrom<LaneWire>('chat', 'responses', 'anthropic', 'gemini')
  .chain((wire) =>
    fc.record({
      wire: fc.constant(wire),
      dialect: fc.constantFrom(...DIALECTS[wire].map(({ name }) => name)),
      traits,
      promptCache: fc.constantFrom('off', 'system', 'conversation'),
    }),
  )
  .map(
    ({ wire, dialect, ...more }) =>
      ({ id: 'l', model: 'm', origin: 'here', upstream: { wire, dialect }, ...more }) as Lane,
  )

/** How a client goes on: it sends all of it again, with what is sealed or without, or names the last response. */
const WAYS = ['chat', 'carries', 'carries without seals', 'names the last'] as const
/** How a client writes JSON. */
const SPELLINGS = ['compact', 'spaced', 'indented'] as const

interface Conversation {
  readonly lane: Lane
  readonly way: (typeof WAYS)[number]
  readonly spelling: (typeof SPELLINGS)[number]
  readonly effort: string | undefined
  readonly begin: Fields
  readonly seed: number
}

const conversations: fc.Arbitrary<Conversation> = fc.constantFrom(...WAYS).chain((way) =>
  fc.record({
    lane: lanes,
    way: fc.constant(way),
    spelling: fc.constantFrom(...SPELLINGS),
    effort: fc.constantFrom(undefined, 'none', 'low', 'high'),
    begin: (way === 'chat' ? randomChatRequest : randomResponsesRequest).map(({ body }) => body as Fields),
    seed: fc.nat(),
  }),
)

const counts: Record<string, number> = {}
const count = (what: string) => {
  counts[what] = (counts[what] ?? 0) + 1
}

it('what a provider is sent in one turn is the beginning of what it is sent in the next', {
  timeout: 300_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(conversations, async (conversation) => {
      const { lane, way, effort } = conversation
      const gateway = openGateway(lane, effort === undefined ? undefined : effortOf(effort))
      let before: ReturnType<typeof renderedOf> | undefined
      for await (const body of turnsOf(conversation, gateway)) {
        const now = renderedOf(lane.upstream.wire as LaneWire, body)
        const broken = before && brokenPrefix(before, now, thinkingOf(conversation))
        if (broken !== undefined) throw new Error(broken)
        if (before !== undefined) count(`${way} over ${lane.upstream.wire}`)
        before = now
      }
    }),
    { seed: SEED, numRuns: RUNS, ...(process.env.AT === undefined ? {} : { path: process.env.AT }) },
  )
  console.info(`stable prefixes: seed ${SEED}, ${RUNS} conversations`, counts)
  expect(Object.keys(counts)).toHaveLength(WAYS.length * Object.keys(DIALECTS).length)
})

/**
 * Who thinks may change where a model has to go on from calls without what led to them: those that another one has made, and
 * those of a client that leaves the reasoning out. What it is sent of the conversation may not.
 */
function thinkingOf({ way, begin }: Conversation): readonly string[] {
  const isWithoutReasoning =
    way === 'carries without seals' || /"(function_call|custom_tool_call|tool_calls)"/.test(JSON.stringify(begin))
  return isWithoutReasoning ? ['thinking', 'reasoning_effort', 'enable_thinking', 'thinking_budget'] : []
}

/** Plays the turns of one conversation, and gives what the provider was sent in each. */
async function* turnsOf(conversation: Conversation, gateway: Gateway): AsyncGenerator<Buffer> {
  const { way, seed, begin } = conversation
  const dice = diceOf(randomFrom(seed))
  let body = firstOf(conversation, dice)
  for (let turn = 0; turn < TURNS; turn++) {
    const sent = await gateway.ask(way === 'chat' ? 'chat' : 'responses', spell(body, conversation.spelling))
    yield sent.body
    // A turn that fails leaves nothing behind: its client goes on with what it had.
    const state = turn > 0 && dice.onceIn(8) ? undefined : sent.answer(answerOf(dice, conversation.lane, sent.body))
    if (state === undefined && way === 'names the last') continue
    const added = addedBy(conversation, dice, state)
    body = { ...body, ...goneOn(way, body, { state, added, instructions: begin.instructions }) }
  }
}

function firstOf({ way, begin }: Conversation, dice: Dice): Fields {
  const include = way === 'carries' ? { include: ['reasoning.encrypted_content'] } : {}
  const own = way === 'chat' ? systemOnly(begin, dice) : { ...begin, ...include, store: way === 'names the last' }
  // Nothing of a client's own is sealed by us.
  const input = (own as { input?: Fields[] }).input?.map(({ encrypted_content: _, ...item }) => item)
  return { model: 'small', ...own, ...(input === undefined ? {} : { input }), stream: true }
}

/** Some conversations begin with nothing but instructions. */
const systemOnly = (begin: Fields, dice: Dice): Fields =>
  dice.onceIn(8) ? { ...begin, messages: [{ role: 'system', content: 'Begin with a joke.' }] } : begin

interface Going {
  readonly state: ReceivedAnswer | undefined
  readonly added: readonly Fields[]
  readonly instructions: unknown
}

function goneOn(way: Conversation['way'], body: Fields, { state, added }: Going): Fields {
  if (way === 'names the last') return { previous_response_id: state?.id, input: added }
  const emitted =
    way === 'carries without seals' ? state?.emitted.filter(({ type }) => type !== 'reasoning') : state?.emitted
  const field = way === 'chat' ? 'messages' : 'input'
  return { [field]: [...(body[field] as Fields[]), ...(emitted ?? []), ...added] }
}

/** Results of calls, and what the user says next. */
function addedBy({ way }: Conversation, dice: Dice, state: ReceivedAnswer | undefined): Fields[] {
  const results = (state?.calls ?? [])
    .filter(() => !dice.onceIn(10))
    .map(({ id, type }) => {
      const emitted = dice.pick(['done', '', ' ', '{"a": 1.0}', 'custom'])
      return way === 'chat'
        ? { role: 'tool', tool_call_id: id, content: emitted }
        : { type: type === 'custom' ? 'custom_tool_call_output' : 'function_call_output', call_id: id, output: emitted }
    })
  if (results.length > 0 && !dice.onceIn(4)) return results
  return [...results, ...(dice.onceIn(6) ? [{ role: 'developer', content: 'Be brief.' }] : []), userSays(way, dice)]
}

function userSays(way: Conversation['way'], dice: Dice): Fields {
  const text = dice.pick(['And now?', '', ' ', 'é漢 🙂 ', 'custom', 'namespace', '{"n": 1e3}'])
  if (dice.onceIn(2)) return { role: 'user', content: text }
  const url = 'data:image/png;base64,iVBORw0KGgoAAAAN'
  const [emitted, shown] =
    way === 'chat'
      ? [
          { type: 'text', text },
          { type: 'image_url', image_url: { url } },
        ]
      : [
          { type: 'input_text', text },
          { type: 'input_image', image_url: url },
        ]
  return { role: 'user', content: dice.onceIn(2) ? [emitted] : [emitted, shown] }
}

const ARGUMENTS = ['{}', '{"input":"x"}', '{"a": 1.0, "b": [1e3, -0]}', '{"10":1,"2":{"z":1,"a":2}}', '{"é":"漢"}']

/** A model of Anthropic that thinks before it calls need not think again between calls; one of Chat does. */
function answerOf(dice: Dice, { upstream: { wire } }: Lane, body: Buffer): PlainAnswer {
  const pieces: PlainAnswer['pieces'][number][] = []
  const names = namesIn(body)
  const calls = names.length === 0 ? 0 : dice.pick([0, 1, 1, 2])
  const goesOn = isBehindResults(body)
  const thinks = calls > 0 && (wire === 'chat' || (wire === 'anthropic' && !goesOn))
  if (thinks || !dice.onceIn(3)) pieces.push({ kind: 'thought', words: ['Hm', ', so.'] })
  if (!dice.onceIn(3)) pieces.push({ kind: 'text', words: dice.pick([['Well', ' then.'], [' '], ['é漢\n']]) })
  for (let call = 0; call < calls; call++)
    pieces.push({ kind: 'call', name: dice.pick(names), words: [dice.pick(ARGUMENTS)] })
  if (pieces.every(({ kind }) => kind === 'thought')) pieces.push({ kind: 'text', words: ['Yes.'] })
  return { pieces, end: 'stop', counts: { input: 9, cached: 0, output: 9, thought: 2 } }
}

/** The last message of a Messages request is nothing but results. */
function isBehindResults(body: Buffer): boolean {
  const { messages = [] } = JSON.parse(String(body)) as { messages?: { content: string | Fields[] }[] }
  const { content = '' } = messages.at(-1) ?? {}
  return typeof content !== 'string' && content.every(({ type }) => type === 'tool_result')
}

/** The functions that a provider was told of. */
function namesIn(body: Buffer): string[] {
  const { tools = [] } = JSON.parse(String(body)) as { tools?: Fields[] }
  return tools.flatMap((tool) => {
    const list = (tool.functionDeclarations ?? [tool.function ?? (tool.type === 'custom' ? {} : tool)]) as Fields[]
    return list.flatMap(({ name, type }) => (typeof name === 'string' && type !== 'namespace' ? [name] : []))
  })
}

/** The body as clients write it: with or without spaces, and other characters in escapes. */
function spell(body: Fields, spelling: Conversation['spelling']): Buffer {
  if (spelling === 'compact') return Buffer.from(JSON.stringify(body))
  const text = JSON.stringify(body, undefined, spelling === 'indented' ? 2 : 1)
  if (spelling === 'indented') return Buffer.from(text)
  const spaced = text.replaceAll(/,\n +/g, ', ').replaceAll(/\n */g, '')
  return Buffer.from(spaced.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`))
}
