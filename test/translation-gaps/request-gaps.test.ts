import { describe, expect, it } from 'vitest'
import type { Lane } from '../../src/catalog/catalog.ts'
import { ableLanes } from '../../src/gateway/plan-turn.ts'
import type { Opaque } from '../../src/model/event.ts'
import type { TurnRequest } from '../../src/model/turn.ts'
import { CHAT_DIALECTS } from '../../src/protocols/chat/dialects.ts'
import { CHAT_FIELDS } from '../../src/protocols/chat/parse-request.ts'
import type { FieldTable } from '../../src/protocols/fields/read-fields.ts'
import { RESPONSES_DIALECTS } from '../../src/protocols/responses/dialects.ts'
import { RESPONSES_FIELDS } from '../../src/protocols/responses/fields.ts'
import { codecs, type LaneDialect } from '../../src/protocols/wires.ts'
import { requestOf } from '../fixtures/protocols/chat/translate.ts'
import { conversationIn } from '../fixtures/protocols/conversation-in.ts'
import { laneTarget } from '../fixtures/protocols/lane-target.ts'
import { requestOf as responsesRequestOf } from '../fixtures/protocols/responses/read-request.ts'
import { CHAT_SPECIMENS } from './chat-specimens.ts'
import { differences, type Fate, fateOf, lossRows } from './loss-pages.ts'
import { RESPONSES_SPECIMENS } from './responses-specimens.ts'
import { fieldsOf, type Specimen } from './specimen.ts'

/** One way: what clients can say, and the lanes that it goes to. */
interface Way {
  readonly page: string
  readonly fields: FieldTable
  readonly specimens: readonly Specimen[]
  readonly dialects: readonly LaneDialect[]
  readonly ask: (body: object) => TurnRequest
  /** A lane's request, read as if a client had sent it. */
  readonly understand: (body: object) => TurnRequest
}

const askChat = (body: object): TurnRequest => requestOf(body)
const askResponses = (body: object): TurnRequest => ({ ...responsesRequestOf({ model: 'm', ...body }), sealed: SEALED })

const SEALED: Map<string, Opaque> = new Map([
  ['mr1.responses', { wire: 'responses', origin: 'elsewhere', data: 'gAAA' }],
  ['mr1.chat', { wire: 'chat', origin: 'elsewhere', data: 'Hm' }],
])

const WAYS: Readonly<Record<string, Way>> = {
  'chat to responses': {
    page: 'chat-to-responses',
    fields: CHAT_FIELDS,
    specimens: CHAT_SPECIMENS,
    dialects: RESPONSES_DIALECTS,
    ask: askChat,
    understand: askResponses,
  },
  'responses to chat': {
    page: 'responses-to-chat',
    fields: RESPONSES_FIELDS,
    specimens: RESPONSES_SPECIMENS,
    dialects: CHAT_DIALECTS,
    ask: askResponses,
    understand: askChat,
  },
}

const meaningOf = (request: TurnRequest) => ({
  ...conversationIn(request),
  effort: request.effort,
  outputCap: request.outputCap,
})

function carry(way: Way, body: object, dialect: LaneDialect) {
  const request = way.ask(body)
  const { effort, outputCap = 99_999 } = request
  const target = laneTarget(dialect, { effort, outputCap, client: request.protocol })
  const written = codecs.writeRequest(conversationIn(request), target)
  // The dialect's own spelling of standard fields is no other meaning.
  const sent = { ...JSON.parse(JSON.stringify(written.body).replaceAll('"random_seed":', '"seed":')) }
  const budget = Object.entries(dialect.traits.efforts ?? {}).find(([, tokens]) => tokens === sent.thinking_budget)
  if (budget !== undefined) sent.reasoning_effort = budget[0]
  const meant = { ...meaningOf(request), outputCap }
  return { meant, understood: meaningOf(way.understand(sent)), leftOut: written.leftOut }
}

function fateIn(way: Way, specimen: Specimen, dialect: LaneDialect): { fate: Fate; named: readonly string[] } {
  const [without, withIt] = [carry(way, specimen.without, dialect), carry(way, specimen.with, dialect)]
  const fate = fateOf(
    { with: withIt.meant, without: without.meant },
    { with: withIt.understood, without: without.understood },
  )
  const named = withIt.leftOut.filter((name) => !without.leftOut.includes(name))
  if (isRefused(way, specimen, dialect)) return { fate: 'refused', named: [] }
  const isOurs = fate === 'lost' && [specimen.what, ...fieldsOf(specimen)].some((name) => OURS.has(name))
  return { fate: isOurs ? 'ours' : fate, named }
}

/** Nothing that a client says there means anything: a salt is the account's. */
const NEVER_THE_CLIENTS = ['cache_salt', 'prompt_cache_isolation_key']
/** Whether the client waits is nothing to a lane. */
const NOTHING_TO_A_LANE = ['background']

/** What Millrace does itself, so that no lane has to. */
const OURS = new Set([
  ...['model', 'stream', 'stream_options', 'store', 'previous_response_id'],
  ...['reasoning.summary', 'reasoning.generate_summary', 'include: reasoning.encrypted_content'],
])

/** A lane that cannot do it is not asked; where there is no other the request is refused. */
function isRefused(way: Way, { with: body }: Specimen, { wire }: LaneDialect): boolean {
  const lanes = [{ upstream: { wire } }] as unknown as Lane[]
  return !Array.isArray(ableLanes({ id: 'm', lanes } as Parameters<typeof ableLanes>[0], way.ask(body)))
}

/** The row of a thing: what becomes of it on a plain lane, whether the answer names it, and where it is otherwise. */
function rowOf(way: Way, specimen: Specimen): string | undefined {
  const fates = way.dialects.map((dialect) => ({ name: dialect.name, ...fateIn(way, specimen, dialect) }))
  const [{ fate, named }] = fates as [(typeof fates)[number]]
  const others = new Map<string, string[]>()
  for (const other of fates) {
    const delivered = other.named.length === 0 || other.fate === fate ? '' : ', named'
    if (other.fate !== fate)
      others.set(other.fate + delivered, [...(others.get(other.fate + delivered) ?? []), other.name])
  }
  if (fate === 'kept' && others.size === 0) return undefined
  const elsewhere = [...others].map(([what, names]) => `${what}: ${names.join(', ')}`).join('; ')
  return [specimen.what, fate, named.map((name) => `\`${name}\``).join(', '), elsewhere].join(' | ')
}

const derivedRows = (way: Way): string[] => way.specimens.flatMap((specimen) => rowOf(way, specimen) ?? [])

describe.each(Object.entries(WAYS))('a request from %s', (_name, way) => {
  it('loses what the page says, and nothing else', () => {
    expect(lossRows(way.page, 'The request')).toEqual(derivedRows(way))
  })

  it('is looked at field by field: those that no lane gets are in the page of the fields', () => {
    const looked = new Set([...way.specimens.flatMap(fieldsOf), ...NEVER_THE_CLIENTS, ...NOTHING_TO_A_LANE])
    const encoded = Object.entries(way.fields).filter(([, { policy }]) => policy === 'passed' || policy === 'control')
    expect(encoded.map(([name]) => name).filter((name) => !looked.has(name))).toEqual([])
  })

  it('gets nothing to a lane of what no lane gets', () => {
    const [dialect] = way.dialects as [LaneDialect]
    const body = way.specimens[0]!.without
    const { understood } = carry(way, body, dialect)
    const nothing = Object.entries(way.fields).flatMap(([name, { policy }]) =>
      policy === 'ignored' ? [{ ...body, [name]: VALUES[name] ?? { a: 'b' } }] : [],
    )
    for (const withIt of [...nothing, ...NOBODYS[way.page]!(body)])
      expect(differences(carry(way, withIt, dialect).understood, understood), JSON.stringify(withIt)).toEqual([])
  })
})

const VALUES: Readonly<Record<string, unknown>> = { max_tool_calls: 3, modalities: ['text'] }

/** Tools and items that only a provider, or one client, could make something of. */
const NOBODYS: Readonly<Record<string, (body: object) => object[]>> = {
  'chat-to-responses': (body) => [{ ...body, tools: [{ type: 'web_search' }] }],
  'responses-to-chat': (body) => [
    { ...body, tools: [{ type: 'web_search' }] },
    ...[{ type: 'web_search_call', id: 'ws' }, { type: 'nobody_knows' }].map((item) => ({
      ...body,
      input: [...(body as { input: object[] }).input, item],
    })),
  ],
}
