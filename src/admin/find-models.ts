import type { z } from 'zod'
import type { Upstream } from '../catalog/catalog.ts'
import { knownModel } from '../catalog/known-models.ts'
import {
  type foundModels,
  type ManagedShape,
  managedKey,
  type providerBody,
  type testBody,
  type testedModel,
} from '../contract/managed.ts'
import { listManaged } from '../db/managed.ts'
import { createQueue, Stopper } from '../lib/async.ts'
import { readProviderError } from '../protocols/refusals/provider-error.ts'
import { readBeginning, type UpstreamBody } from '../providers/upstream-answer.ts'
import { oneLine } from '../telemetry/scrub.ts'
import { knownView } from './compare-catalog.ts'
import { withKeptSecrets } from './managed.ts'
import { type CheckedConfig, entriesAt, managedState, parseVersion } from './managed-state.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import type { ProbeServices } from './probe.ts'
import type { AdminServices } from './services.ts'
import { testLanes } from './test-lanes.ts'

type ProviderServices = Pick<AdminServices, 'db' | 'clock' | 'managed'>

const LIST_MS = 20_000
const LIST_BYTES_MAX = 4 * 1024 * 1024
const MODELS_MAX = 2000
/** Calls of operators wait in one queue, so that a script cannot open connections without end. */
const inQueue = createQueue(4)

/** Asks a provider, which need not be saved, which models it has, and proposes entries from what is known about them. */
export async function findModels(
  services: ProviderServices,
  { upstream: entry }: z.output<typeof providerBody>,
): Promise<Outcome<z.output<typeof foundModels>>> {
  const chosen = await chooseUpstream(services, entry)
  if (chosen.kind === 'refused') return chosen
  const { upstream } = chosen
  if (upstream.wire === 'demo')
    return done({ ok: true, message: null, models: ['demo', 'demo-tools'].map(unknownModel) })
  const found = await inQueue(() => services.managed.callProviders([upstream], (calls) => fetchModels(calls, upstream)))
  if (typeof found === 'string') return done({ ok: false, message: found, models: [] })
  return done({ ok: true, message: null, models: found.map((id) => ({ id, proposal: proposalOf(upstream, id) })) })
}

const unknownModel = (id: string) => ({ id, proposal: null })

/** The names, or what went wrong. */
async function fetchModels({ send }: ProbeServices, upstream: Upstream): Promise<string[] | string> {
  const signal = new Stopper()
  const timer = setTimeout(() => signal.stop(), LIST_MS)
  try {
    const call = { upstream, model: '', body: Buffer.alloc(0), delivery: 'json', signal, lists: true } as const
    const outcome = await send(call)
    if (outcome.kind === 'failed') return outcome.message
    if (outcome.status >= 400) {
      const { message } = readProviderError(outcome.status, await readBeginning(outcome.body))
      return oneLine(`The provider answered ${outcome.status}: ${message}`)
    }
    const text = await readWhole(outcome.body)
    return (
      (text === undefined ? undefined : namesIn(text)) ?? 'The answer is not a list of models. Is the address right?'
    )
  } catch {
    return 'The provider did not finish its answer.'
  } finally {
    clearTimeout(timer)
  }
}

async function readWhole(body: UpstreamBody): Promise<string | undefined> {
  const parts: Buffer[] = []
  let size = 0
  for (let chunks = await body.read(); chunks.length > 0; chunks = await body.read()) {
    for (const chunk of chunks) size += chunk.length
    parts.push(...chunks)
    if (size > LIST_BYTES_MAX) {
      body.cancel()
      return undefined
    }
  }
  return Buffer.concat(parts).toString('utf8')
}

/** `{data: [{id}]}` of OpenAI and Anthropic, `{models: [{name: "models/…"}]}` of Gemini, or a plain list. */
function namesIn(text: string): string[] | undefined {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return undefined
  }
  const { data, models } = (read ?? {}) as { readonly data?: unknown; readonly models?: unknown }
  const list = [read, data, models].find(Array.isArray)
  const names = list?.flatMap((each: unknown) => {
    const { id, name } = (each ?? {}) as { readonly id?: unknown; readonly name?: unknown }
    const found = typeof id === 'string' ? id : typeof name === 'string' ? name.replace(/^models\//, '') : ''
    return /^[^\s\p{C}]{1,200}$/u.test(found) ? [found] : []
  })
  return names && [...new Set(names)].sort().slice(0, MODELS_MAX)
}

/** An entry of the list. What is not known is left out, and asked for when it is saved. */
function proposalOf({ id: upstream, dialect }: Upstream, model: string): ManagedShape | null {
  const known = knownModel(dialect, model)
  if (known === undefined) return null
  const { efforts, context_tokens, max_output_tokens, price } = knownView(known)
  return {
    id: model.slice(model.lastIndexOf('/') + 1),
    ...(efforts !== null && { efforts }),
    ...(context_tokens !== null && { context_tokens }),
    ...(max_output_tokens !== null && { max_output_tokens }),
    ...(price !== null && { price }),
    lanes: [{ upstream, model, ...(price !== null && { cost: price }) }],
  }
}

/** Calls a model of a provider, which need not be saved, as `millrace upstreams test` does. */
export async function testProvider(
  services: ProviderServices,
  { upstream: entry, model }: z.output<typeof testBody>,
): Promise<Outcome<z.output<typeof testedModel>>> {
  const chosen = await chooseUpstream(services, entry, model)
  if (chosen.kind === 'refused') return chosen
  const { upstream, lane } = chosen
  if (lane === undefined) throw new Error('A model that was checked has no lane')
  const [test] = await inQueue(() =>
    services.managed.callProviders([upstream], (calls) =>
      testLanes(calls, [{ upstream, lanes: [{ lane, models: [] }] }], () => {}),
    ),
  )
  const { ok, message, cure, provider_says, first_word_ms, total_ms } = test!
  return done({ ok, message, cure: cure ?? null, provider_says, first_word_ms, total_ms })
}

type Valid = Extract<CheckedConfig, { kind: 'valid' }>

/** The provider as it would be if it was saved. Secrets that are left out are those that are stored for its address. */
async function chooseUpstream({ db, clock, managed }: ProviderServices, entry: ManagedShape, model = 'any') {
  const { id } = entry
  if (typeof id !== 'string' || id === '') return refuseProvider('The provider needs an id.')
  const state = managedState((await listManaged(db)).map(parseVersion))
  const key = managedKey({ kind: 'upstream', name: id })
  const former = state.newest.get(key)
  // The id alone names one that is saved.
  const isNamed = Object.keys(entry).length === 1
  const split = withKeptSecrets(managed, former, isNamed ? { ...former?.entry, ...entry } : entry)
  if (split.kind === 'refused') return split
  const others = entriesAt(state, clock.now(), managed.open).filter((each) => managedKey(each) !== key)
  const upstream = { kind: 'upstream', name: id, entry: { ...split.shown, ...split.secrets } } as const
  const name = `provider-test:${id}`
  const lanes = [{ upstream: id, model }]
  const probe = {
    kind: 'model',
    name,
    entry: { id: name, context_tokens: 1000, max_output_tokens: 1000, lanes },
  } as const
  const checked = managed.check([...others, upstream, probe])
  if (checked.kind === 'invalid') return refuseOperation('managed_invalid', checked.message)
  return { kind: 'chosen' as const, upstream: upstreamOf(checked, id), lane: laneOf(checked, name) }
}

const refuseProvider = (message: string): OperationRefused =>
  refuseOperation('invalid_arguments', message, { param: 'upstream' })

const upstreamOf = ({ upstreams }: Valid, id: string): Upstream => upstreams.find((each) => each.id === id)!

const laneOf = ({ catalog }: Valid, model: string) => catalog.models.find(({ id }) => id === model)?.lanes[0]
