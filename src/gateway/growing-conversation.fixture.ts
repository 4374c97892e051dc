import { catalogOf, modelDefinition } from '../catalog/catalog.fixture.ts'
import type { Lane } from '../catalog/catalog.ts'
import type { FoundContext } from '../db/content/stored-responses.ts'
import type { Fields } from '../lib/types.ts'
import type { Caller } from '../model/caller.ts'
import type { Effort } from '../model/effort.ts'
import type { AccountId, AccountRow, RequestId } from '../model/ids.ts'
import type { Protocol } from '../model/turn.ts'
import { framesOf, type PlainAnswer } from '../protocols/hostile/answer-frames.fixture.ts'
import { playEncoder } from '../protocols/hostile/play-encoder.fixture.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import { countedIds } from '../protocols/mint-ids.fixture.ts'
import { finalOf } from '../protocols/responses/encoder.fixture.ts'
import { laneDialect } from '../routing/learned-capabilities.ts'
import { createCallSealMemory } from './call-seal-memory.ts'
import { plainSeals } from './plain-seals.fixture.ts'
import { type ReadDeps, readTurn, type TurnEndpoint } from './read-turn.ts'
import { routeTo } from './route-strategy.ts'
import { signed } from './signed-frames.fixture.ts'
import { createEncoder } from './turn.ts'

const BOUNDS = { bytesMax: 10_000_000, depthMax: 64, valuesMax: 1_000_000 }
const caller = { account: 1 as AccountRow, accountId: 'acct_1' as AccountId, kind: 'wallet' } as Caller
const MODEL = 'small'

/** What a provider was sent in one turn. */
export interface SentTurn {
  readonly body: Buffer
  /** The provider answers, and the client hears it: what it takes down for its next request. */
  answer(answer: PlainAnswer): Heard
}

export interface Heard {
  /** Messages of Chat, items of Responses, exactly as the client was told them. */
  readonly said: readonly Fields[]
  readonly calls: readonly Called[]
  /** Of a response. */
  readonly id: string | undefined
}

interface Called {
  readonly id: string
  readonly type: 'function' | 'custom'
}

export interface Gateway {
  /** `bytes` is the body as its client has written it. */
  ask(endpoint: TurnEndpoint, bytes: Buffer): Promise<SentTurn>
}

/** All that stands between one client and one lane: what reads, translates, relays, keeps and tells. */
export function openGateway(lane: Lane, effort: Effort | undefined): Gateway {
  const stored = new Map<string, readonly Buffer[]>()
  const mint = countedIds()
  const callSeals = createCallSealMemory({ nowMicros: () => 0 }).of(caller.account)
  const deps: ReadDeps = {
    responses: {
      keeps: true,
      async context(_account, id): Promise<FoundContext> {
        const items = stored.get(id)
        return items === undefined ? { kind: 'not-found' } : { kind: 'found', items }
      },
      items: async () => ({ kind: 'found', items: new Map() }),
    },
    ...{ stateMs: 1000, bounds: BOUNDS, seals: plainSeals, hostedTools: 'ignore' },
    catalog: catalogOf(modelDefinition(MODEL)),
  }
  let turns = 0
  return {
    async ask(endpoint, bytes) {
      const scan = scanJson(bytes, BOUNDS)
      if (scan.kind !== 'scanned') throw new Error(scan.kind)
      const body = { bytes, members: scan.members, value: JSON.parse(String(bytes)) }
      const read = await readTurn(deps, { endpoint, caller, body })
      if (read.kind === 'refused') throw new Error(read.problem.message)
      const { request } = read
      const spoken = { request, requestId: `req_${turns}` as RequestId, caller, entry: { id: MODEL }, effort }
      const encoder = createEncoder(
        { mint, now: () => 1_800_000_000_000, seals: plainSeals },
        spoken as never,
        () => true,
      )
      const dialect = laneDialect(lane)
      const { sent, ...strategy } = await routeTo(lane, dialect, {
        ...{ request, encoder, mint, callSeals, cacheSalt: 'salt', effort, outputCap: 50_000 },
        ...{ model: { lanes: [lane], passFields: [] }, withoutSeals: false, withoutNativeCompaction: false },
      })
      const turn = turns++
      return {
        body: sent.body,
        answer(answer) {
          const frames = signed(dialect.wire, framesOf(dialect.wire, answer), turn)
          const stream = frames.map(({ said }) => `data: ${typeof said === 'string' ? said : JSON.stringify(said)}\n\n`)
          const { said, end } = playEncoder(encoder, strategy.adapter(), [Buffer.from(stream.join(''))], 9)
          if (end === 'failed') throw new Error(`The answer did not reach its client: ${said}`)
          const state = HEARERS[request.protocol](String(said))
          if (request.protocol === 'responses' && 'storedItems' in encoder) {
            const before = stored.get(request.previousResponseId ?? '') ?? []
            const output = encoder.storedItems().map((item) => Buffer.from(JSON.stringify(item)))
            stored.set(encoder.responseId, [...before, ...(request.storedInput?.() ?? []), ...output])
          }
          return state
        },
      }
    },
  }
}

const HEARERS: Readonly<Record<Protocol, (stream: string) => Heard>> = { chat: hearChat, responses: hearResponses }

function hearResponses(stream: string): Heard {
  const { id, output }: { id: string; output: Fields[] } = finalOf(stream)
  const calls = output.flatMap(({ type, call_id }): Called[] => {
    if (type === 'function_call') return [{ id: String(call_id), type: 'function' }]
    return type === 'custom_tool_call' ? [{ id: String(call_id), type: 'custom' }] : []
  })
  return { said: output, calls, id }
}

/** A message as clients put it together: text, what was thought and refused, calls by their indexes. */
function hearChat(stream: string): Heard {
  const words: Record<string, string> = {}
  const calls: Fields[] = []
  for (const [, data] of stream.matchAll(/^data: (\{.*)$/gm)) {
    const { choices } = JSON.parse(data!) as { choices: { delta: Fields }[] }
    const { tool_calls: fragments = [], ...delta } = choices[0]?.delta ?? {}
    for (const [name, said] of Object.entries(delta))
      if (name !== 'role' && typeof said === 'string') words[name] = (words[name] ?? '') + said
    for (const { index, ...fragment } of fragments as (Fields & { index: number })[])
      addFragment(calls, index, fragment)
  }
  const { content = '', ...others } = words
  const message = {
    ...{ role: 'assistant', content: content === '' && calls.length > 0 ? null : content, ...others },
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  return {
    said: [message],
    calls: calls.map(({ id, type }) => ({ id: String(id), type: type as Called['type'] })),
    id: undefined,
  }
}

function addFragment(calls: Fields[], index: number, fragment: Fields): void {
  const call = calls[index]
  if (call === undefined) {
    calls[index] = structuredClone(fragment)
    return
  }
  for (const kind of ['function', 'custom'] as const) {
    const [said, more] = [call[kind], fragment[kind]] as [Fields | undefined, Fields | undefined]
    for (const name of ['arguments', 'input'])
      if (said !== undefined && more?.[name] !== undefined) said[name] = `${said[name] ?? ''}${more[name]}`
  }
}
