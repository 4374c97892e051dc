import type { Catalog, Lane, Upstream } from '../catalog/catalog.ts'
import { createQueue } from '../lib/async.ts'
import { inputTokensOf } from '../model/price.ts'
import { addressOf } from '../providers/provider-endpoints.ts'
import { oneLine } from '../telemetry/scrub.ts'
import { describeFinding, type Finding, judgeLane } from './lane-findings.ts'
import { type ProbeServices, probe } from './probe.ts'

/** Tests mostly wait, so several run at once. */
const UPSTREAMS_AT_ONCE = 8

/**
 * Tests every lane: upstreams in parallel, the lanes of each in sequence. After a fault of the whole upstream its other lanes
 * are skipped.
 */
export async function testLanes(
  services: ProbeServices,
  chosen: readonly UpstreamLanes[],
  onTested: (test: LaneTest) => void,
): Promise<readonly LaneTest[]> {
  const queue = createQueue(UPSTREAMS_AT_ONCE)
  const tests = await Promise.all(chosen.map((each) => queue(() => testUpstream(services, each, onTested))))
  return tests.flat()
}

async function testUpstream(
  services: ProbeServices,
  { upstream, lanes }: UpstreamLanes,
  onTested: (test: LaneTest) => void,
): Promise<LaneTest[]> {
  const tests: LaneTest[] = []
  const report = (test: LaneTest) => {
    tests.push(test)
    onTested(test)
  }
  if (lanes.length === 0) report(describeTest(upstream, undefined, 'no-lane').test)
  let isUpstreamFaulty = false
  for (const serving of lanes) {
    if (isUpstreamFaulty) {
      report(describeTest(upstream, serving, 'not-asked').test)
      continue
    }
    const { test, ofUpstream } = await testLane(services, upstream, serving)
    isUpstreamFaulty = ofUpstream
    report(test)
  }
  return tests
}

async function testLane(services: ProbeServices, upstream: Upstream, serving: ServingLane) {
  const { probed, without } = await probe(services, serving.lane)
  return describeTest(upstream, serving, judgeLane(serving.lane, probed), { probed, without })
}

/** The result of one lane, as JSON. */
export type LaneTest = ReturnType<typeof describeTest>['test']

function describeTest(
  upstream: Upstream,
  serving: ServingLane | undefined,
  finding: Finding,
  { probed, without }: Partial<Awaited<ReturnType<typeof probe>>> = {},
) {
  const lane = serving?.lane
  const model = lane?.model ?? ''
  const address = lane === undefined ? upstream.baseUrl : addressOf(upstream, { model, delivery: 'stream' })
  const url = address === undefined ? undefined : oneLine(address)
  const answered = probed?.kind === 'answered' ? probed : undefined
  const refused = probed?.kind === 'refused' ? probed : undefined
  const failure = probed?.kind === 'failed' ? probed.failure : undefined
  const { ok, message, cure, ofUpstream } = describeFinding(finding, {
    ...{ upstream, model, url, status: refused?.error.status, retryAfterMs: refused?.retryAfterMs },
    failure: failure?.message,
    expired: probed?.kind === 'broken-off' ? probed.expired : failure?.expired,
    contentType: probed?.kind === 'foreign' && !probed.isEmpty ? probed.contentType : undefined,
  })
  const test = {
    /** `upstream/model`; null for an upstream without a model. */
    lane: lane?.id ?? null,
    upstream: upstream.id,
    wire: upstream.wire as string,
    model: lane?.model ?? null,
    /** Our models that run on it. */
    models: serving?.models ?? [],
    /** The requested URL; null for the demo. */
    url: url ?? null,
    ...{ ok, finding, message, cure, status: refused?.error.status ?? null },
    first_word_ms: answered?.firstWordMs ?? null,
    total_ms: answered?.totalMs ?? null,
    input_tokens: answered?.usage === undefined ? null : inputTokensOf(answered.usage),
    output_tokens: answered?.usage?.output ?? null,
    answers_as: answered?.model === undefined ? null : oneLine(answered.model),
    /** The provider's own message of a refusal. */
    provider_says: refused === undefined ? null : oneLine(refused.error.message) || null,
    /** Rejected fields, without which or under another name the lane was called again. */
    refused_fields: without ?? [],
  }
  return { test, ofUpstream }
}

/** A lane with the models that run on it. */
interface ServingLane {
  readonly lane: Lane
  readonly models: readonly string[]
}

interface UpstreamLanes {
  readonly upstream: Upstream
  readonly lanes: readonly ServingLane[]
}

/**
 * The lanes of the named upstreams, models (with or without an effort) and lanes, by upstream; all lanes without names.
 * `unknown` are names that nothing has.
 */
export function chosenLanes(
  catalog: Catalog,
  upstreams: readonly Upstream[],
  names: readonly string[],
): { readonly byUpstream: readonly UpstreamLanes[]; readonly unknown: readonly string[] } {
  const every = upstreams.map((upstream) => ({ upstream, lanes: lanesOf(catalog, upstream) }))
  if (names.length === 0) return { byUpstream: every, unknown: [] }
  const models = new Set(names.map((name) => catalog.entries.get(name)?.model.id))
  const isNamed = ({ lane, models: served }: ServingLane): boolean =>
    names.includes(lane.id) || names.includes(lane.upstream.id) || served.some((model) => models.has(model))
  const byUpstream = every
    .map(({ upstream, lanes }) => ({ upstream, lanes: lanes.filter(isNamed) }))
    .filter(({ upstream, lanes }) => lanes.length > 0 || names.includes(upstream.id))
  const known = new Set([
    ...catalog.entries.keys(),
    ...every.flatMap(({ upstream, lanes }) => [upstream.id, ...lanes.map(({ lane }) => lane.id)]),
  ])
  return { byUpstream, unknown: names.filter((name) => !known.has(name)) }
}

/** A lane that several models share is tested once. */
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

export type UpstreamView = ReturnType<typeof listUpstreams>[number]

/** The upstreams of the configuration, and the models on each, without calling them. */
export const listUpstreams = (catalog: Catalog, upstreams: readonly Upstream[]) =>
  chosenLanes(catalog, upstreams, []).byUpstream.map(({ upstream, lanes }) => ({
    id: upstream.id,
    wire: upstream.wire,
    dialect: upstream.dialect,
    base_url: upstream.baseUrl ?? null,
    /** Whether a credential is configured; never the credential. */
    has_key: upstream.apiKey !== undefined,
    allow_private: upstream.allowPrivate,
    lanes: lanes.map(({ lane, models }) => ({ id: lane.id, model: lane.model, models })),
  }))
