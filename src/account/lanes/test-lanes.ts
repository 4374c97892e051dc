import type { Upstream } from '../../catalog/catalog.ts'
import { createQueue } from '../../lib/take-turns.ts'
import { inputTokensOf } from '../../model/usage.ts'
import { oneLine } from '../../telemetry/scrub.ts'
import { addressOf } from '../../upstream/provider-kinds.ts'
import { type AskedWord, askForAWord, type WordDeps } from './ask-for-a-word.ts'
import type { ServingLane, UpstreamLanes } from './chosen-lanes.ts'
import { judgeLane } from './judge-lane.ts'
import { type Finding, type FindingFacts, wordsOf } from './lane-findings.ts'

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
  deps: WordDeps,
  chosen: readonly UpstreamLanes[],
  onTested: (test: LaneTest) => void,
): Promise<readonly LaneTest[]> {
  const queue = createQueue(UPSTREAMS_AT_ONCE)
  const tests = await Promise.all(chosen.map((each) => queue(() => testUpstream(deps, each, onTested))))
  return tests.flat()
}

async function testUpstream(
  deps: WordDeps,
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

async function testLane(deps: WordDeps, serving: ServingLane): Promise<LaneTest> {
  const { lane } = serving
  const { upstream } = lane
  const { asked, without } = await askForAWord(deps, lane)
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

function factsOfAsked(asked: AskedWord): Partial<FindingFacts> {
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
