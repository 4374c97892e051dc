import type { Catalog, Lane, Upstream } from '../catalog/catalog.ts'
import { createQueue } from '../lib/async.ts'
import { inputTokensOf } from '../model/usage.ts'
import { addressOf } from '../providers/provider-kinds.ts'
import { oneLine } from '../telemetry/scrub.ts'
import { type Finding, type FindingFacts, judgeLane, wordsOf } from './lane-findings.ts'
import { type ProbeResult, type ProbeServices, probe } from './probe.ts'

/** What came of one lane, for people and programs. */
export interface LaneTest {
  /** `upstream/model`; null for an upstream that no model runs on. */
  readonly lane: string | null
  readonly upstream: string
  readonly wire: string
  readonly model: string | null
  /** The models of ours that run on it. */
  readonly models: readonly string[]
  /** What was asked; null for the demo. */
  readonly url: string | null
  readonly ok: boolean
  readonly finding: Finding
  readonly message: string
  readonly cure: string | null
  readonly status: number | null
  readonly first_word_ms: number | null
  readonly total_ms: number | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly answers_as: string | null
  /** Its own words, where it refused. */
  readonly provider_says: string | null
  /** Fields that it refused, and was asked again without or by another name, as the server would. */
  readonly refused_fields: readonly string[]
}

/** A test is made of waiting; yet nobody wants to be asked by a whole catalogue at once. */
const UPSTREAMS_AT_ONCE = 8

/**
 * Asks every lane for a word: upstreams beside each other, the lanes of one after each other. What is wrong with an upstream
 * is wrong with each of its lanes, so that the others are not asked in vain.
 */
export async function testLanes(
  deps: ProbeServices,
  chosen: readonly UpstreamLanes[],
  onTested: (test: LaneTest) => void,
): Promise<readonly LaneTest[]> {
  const queue = createQueue(UPSTREAMS_AT_ONCE)
  const tests = await Promise.all(chosen.map((each) => queue(() => testUpstream(deps, each, onTested))))
  return tests.flat()
}

async function testUpstream(
  deps: ProbeServices,
  { upstream, lanes }: UpstreamLanes,
  onTested: (test: LaneTest) => void,
): Promise<LaneTest[]> {
  const tests: LaneTest[] = []
  const tell = (test: LaneTest) => {
    tests.push(test)
    onTested(test)
  }
  if (lanes.length === 0) tell(notAsked(upstream, undefined, 'no-lane'))
  let isAskedInVain = false
  for (const serving of lanes) {
    const test: LaneTest = isAskedInVain ? notAsked(upstream, serving, 'not-asked') : await testLane(deps, serving)
    isAskedInVain ||= wordsOf(test.finding).ofUpstream === true
    tell(test)
  }
  return tests
}

const notAsked = (upstream: Upstream, serving: ServingLane | undefined, finding: Finding): LaneTest => ({
  ...describe(upstream, serving),
  ...inWords(finding, factsOf(upstream, serving)),
})

async function testLane(deps: ProbeServices, serving: ServingLane): Promise<LaneTest> {
  const { lane } = serving
  const { upstream } = lane
  const { asked, without } = await probe(deps, lane)
  const finding = judgeLane(lane, asked)
  const facts = { ...factsOf(upstream, serving), ...factsOfAsked(asked) }
  const test = { ...describe(upstream, serving), ...inWords(finding, facts), refused_fields: without }
  if (asked.kind === 'refused') return { ...test, provider_says: oneLine(asked.error.message) || null }
  if (asked.kind !== 'answered') return test
  return {
    ...test,
    first_word_ms: asked.firstWordMs ?? null,
    total_ms: asked.totalMs,
    input_tokens: asked.usage === undefined ? null : inputTokensOf(asked.usage),
    output_tokens: asked.usage?.output ?? null,
    answers_as: asked.model === undefined ? null : oneLine(asked.model),
  }
}

function describe(upstream: Upstream, serving: ServingLane | undefined) {
  return {
    lane: serving?.lane.id ?? null,
    upstream: upstream.id,
    wire: upstream.wire,
    model: serving?.lane.model ?? null,
    models: serving?.models ?? [],
    url: factsOf(upstream, serving).url ?? null,
    first_word_ms: null,
    total_ms: null,
    input_tokens: null,
    output_tokens: null,
    answers_as: null,
    provider_says: null,
    refused_fields: [],
  }
}

function inWords(finding: Finding, facts: FindingFacts) {
  const { ok, says, cure } = wordsOf(finding)
  return { ok, finding, message: says(facts), cure: cure?.(facts) ?? null, status: facts.status ?? null }
}

function factsOf(upstream: Upstream, serving: ServingLane | undefined): FindingFacts {
  const model = serving?.lane.model ?? ''
  const asked = serving === undefined ? upstream.baseUrl : addressOf(upstream, { model, delivery: 'stream' })
  return {
    upstream,
    model,
    url: asked === undefined ? undefined : oneLine(asked),
    status: undefined,
    expired: undefined,
    retryAfterMs: undefined,
    failure: undefined,
    contentType: undefined,
  }
}

function factsOfAsked(asked: ProbeResult): Partial<FindingFacts> {
  switch (asked.kind) {
    case 'failed':
      return { failure: asked.failure.message, expired: asked.failure.expired }
    case 'refused':
      return { status: asked.error.status, retryAfterMs: asked.retryAfterMs }
    case 'broken-off':
      return { expired: asked.expired }
    case 'foreign':
      return { contentType: asked.isEmpty ? undefined : asked.contentType }
    default:
      return {}
  }
}

/** A lane, with the models that run on it. */
interface ServingLane {
  readonly lane: Lane
  readonly models: readonly string[]
}

interface ChosenLanes {
  /** Those of one upstream together, upstreams in the order of the configuration. */
  readonly byUpstream: readonly UpstreamLanes[]
  /** Names that no upstream, model or lane has. */
  readonly unknown: readonly string[]
}

interface UpstreamLanes {
  readonly upstream: Upstream
  readonly lanes: readonly ServingLane[]
}

/** The lanes that names mean, each an upstream's, a model's (with an effort or without) or a lane's; all where there are none. */
export function chosenLanes(catalog: Catalog, upstreams: readonly Upstream[], names: readonly string[]): ChosenLanes {
  const every = upstreams.map((upstream) => ({ upstream, lanes: lanesOf(catalog, upstream) }))
  if (names.length === 0) return { byUpstream: every, unknown: [] }
  const models = new Set(names.map((name) => catalog.entries.get(name)?.model.id))
  const means = ({ lane, models: served }: ServingLane): boolean =>
    names.includes(lane.id) || names.includes(lane.upstream.id) || served.some((model) => models.has(model))
  const byUpstream = every
    .map(({ upstream, lanes }) => ({ upstream, lanes: lanes.filter(means) }))
    .filter(({ upstream, lanes }) => lanes.length > 0 || names.includes(upstream.id))
  const known = new Set([
    ...catalog.entries.keys(),
    ...every.flatMap(({ upstream, lanes }) => [upstream.id, ...lanes.map(({ lane }) => lane.id)]),
  ])
  return { byUpstream, unknown: names.filter((name) => !known.has(name)) }
}

/** A lane that several models run on is one, whatever each of them pays for it. */
function lanesOf({ models }: Catalog, upstream: Upstream): ServingLane[] {
  const found = new Map<string, { lane: Lane; models: string[] }>()
  for (const model of models) {
    for (const lane of model.lanes) {
      if (lane.upstream.id !== upstream.id) continue
      const known = found.get(lane.id) ?? { lane, models: [] }
      found.set(lane.id, known)
      if (!known.models.includes(model.id)) known.models.push(model.id)
    }
  }
  return [...found.values()]
}

export interface UpstreamView {
  readonly id: string
  readonly wire: string
  readonly dialect: string
  /** Null for the demo. */
  readonly base_url: string | null
  /** Whether a credential is configured: of itself nothing is told. */
  readonly has_key: boolean
  readonly allow_private: boolean
  readonly lanes: readonly { readonly id: string; readonly model: string; readonly models: readonly string[] }[]
}

/** The providers as the configuration has them, and what runs on each. Nobody is asked. */
export const listUpstreams = (catalog: Catalog, upstreams: readonly Upstream[]): readonly UpstreamView[] =>
  chosenLanes(catalog, upstreams, []).byUpstream.map(({ upstream, lanes }) => ({
    id: upstream.id,
    wire: upstream.wire,
    dialect: upstream.dialect,
    base_url: upstream.baseUrl ?? null,
    has_key: upstream.apiKey !== undefined,
    allow_private: upstream.allowPrivate,
    lanes: lanes.map(({ lane, models }) => ({ id: lane.id, model: lane.model, models })),
  }))
