import { chargeWithin } from '../books/close-turn.ts'
import type { Model } from '../catalog/catalog.ts'
import type { AdmittedTurn, Attempt, Ending, SettleOutcome } from '../ledger/ledger.ts'
import { priceUsage } from '../metering/price-usage.ts'
import type { SeenPrefixes } from '../metering/seen-prefixes.ts'
import type { Price } from '../model/price.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { StickyLanes } from '../routing/sticky-lanes.ts'
import { compactedTokens } from './compaction-size.ts'
import { deliverEnd } from './deliver-end.ts'
import { type Resolution, resolveEnding } from './ending.ts'
import { keepAnswer } from './keep-answer.ts'
import { createLastWords, type LastWords } from './last-words.ts'
import type { AdmissionPlan } from './plan-admission.ts'
import type { Run } from './run.ts'
import { msBetween } from './run-lanes.ts'
import { sentPromptOf } from './sent-prompt.ts'
import type { Sink } from './sink.ts'
import type { StoredTurn } from './stored-turn.ts'
import type { TurnCall } from './turn-call.ts'
import { recordOf, type TurnRecord } from './turn-record.ts'
import type { TurnVoice } from './turn-voice.ts'

export interface EndDeps {
  readonly seen: SeenPrefixes
  readonly sticky: StickyLanes
  readonly ticks: () => number
}

export interface TurnAtItsEnd {
  readonly voice: TurnVoice
  readonly sink: Sink
  /** Where its account may ask for the answer later. */
  readonly stored: StoredTurn | undefined
  readonly model: Model
  readonly price: Price
  readonly plan: AdmissionPlan
  readonly hold: AdmittedTurn
  readonly run: Run
  readonly way: Way
}

/** Which lane the conversation was on, and by what names it is known; nothing of either where there is one lane only. */
export interface Way {
  readonly names: readonly string[]
  readonly cameFrom: string | undefined
}

/** What comes of a turn when its providers are done: what it means for the money, what is kept, the settle, the last words. */
export async function endTurn(deps: EndDeps, call: TurnCall, end: TurnAtItsEnd): Promise<TurnRecord> {
  const { model, price, plan, hold, run, way, voice, sink, stored } = end
  const headGone = sink.phase !== 'quiet'
  const resolution = resolveEnding(run, { ...boundsOf(call, end), headGone })
  if (resolution.kind === 'charge') {
    if (run.lane) deps.sticky.remember(way.names, run.lane.origin)
    if (price.cachedInput < price.input) rememberPrompt(deps, call, model)
  }
  const lastWords = createLastWords(voice, run.fate)
  const attempts = withCacheLost(run, way, plan.request.cachedEstimate, resolution)
  const unkept = { ...endingOf(deps, call, model, run, resolution), attempts }
  const { ending, isStored } = await keep(call, end, { resolution, lastWords, ending: unkept })
  const settled = await settle(hold, ending, resolution, price)
  // A keep-alive may have opened the answer meanwhile.
  const wasQuiet = sink.phase === 'quiet'
  const said = deliverEnd({ sink, voice }, run.fate, { lastWords, resolution, settled, price })
  if (said && wasQuiet) await forgetAnswer(call, stored)
  else if (!isStored) await endStored(stored, run, resolution)
  return recordOf(model, ending, resolution, settled, said)
}

/** Whatever was charged for was read by a provider, and is in its cache for a while. */
function rememberPrompt({ seen }: EndDeps, call: TurnCall, model: Model): void {
  const prompt = sentPromptOf(call, model)
  if (prompt !== undefined) seen.remember(prompt)
}

/** Whoever was told by its status that nothing came of it shall find nothing, and not be charged for it by recovery. */
export async function forgetAnswer({ once }: TurnCall, stored: StoredTurn | undefined): Promise<void> {
  await Promise.all([once?.forget(), stored?.forget()])
}

/** What was told as whole and could not be stored is as one that had to make room: it is not there. */
async function endStored(stored: StoredTurn | undefined, { fate }: Run, { outcome }: Resolution): Promise<void> {
  if (fate.kind === 'finished' && !fate.unheard) await stored?.forget()
  else await stored?.end(outcome === 'client_gone' ? 'cancelled' : 'failed')
}

const boundsOf = ({ turn }: TurnCall, { model, plan, hold }: TurnAtItsEnd) => ({
  model,
  inputBound: plan.inputBound,
  inputEstimate: plan.request.inputEstimate,
  cachedEstimate: plan.request.cachedEstimate,
  outputBound: hold.cap * turn.choices,
})

const endingOf = (
  deps: EndDeps,
  { startedAt, turn }: TurnCall,
  model: Model,
  run: Run,
  resolution: Resolution,
): Omit<Ending, 'attempts'> => ({
  outcome: resolution.outcome,
  lane: run.lane?.id,
  firstByteMs: run.firstContentAt === undefined ? undefined : msBetween(startedAt, run.firstContentAt),
  totalMs: msBetween(startedAt, deps.ticks()),
  ...compactionOf(turn, model, run, resolution),
})

/** What a conversation pays for as new, because it goes on where nobody has its beginning in a cache. */
function withCacheLost(
  { attempts, lane }: Run,
  { cameFrom }: Way,
  cachedEstimate: number,
  resolution: Resolution,
): readonly Attempt[] {
  const last = attempts.at(-1)
  if (resolution.kind === 'free' || !last || cameFrom === undefined || lane?.origin === cameFrom) return attempts
  const cacheLost = cachedEstimate - resolution.usage.cachedInput
  return cacheLost > 0 ? [...attempts.slice(0, -1), { ...last, cacheLost }] : attempts
}

function compactionOf(
  turn: TurnRequest,
  model: Model,
  { fate }: Run,
  resolution: Resolution,
): Pick<Ending, 'compaction'> {
  const compacted = fate.kind === 'finished' ? fate.answer.compacted : undefined
  if (compacted === undefined || resolution.kind === 'free') return {}
  return { compaction: compactedTokens(turn, model, compacted, resolution.usage) }
}

interface Kept {
  readonly ending: Ending
  /** The answer may be asked for by its id. */
  readonly isStored: boolean
}

/** The answer first, then its charge: what is kept already tells the charge that it will have. */
async function keep(
  { once, turn }: TurnCall,
  { hold, price, voice, stored, run: { fate } }: TurnAtItsEnd,
  { resolution, lastWords, ending }: { resolution: Resolution; lastWords: LastWords; ending: Ending },
): Promise<Kept> {
  const isWhole = fate.kind === 'finished' || fate.kind === 'broken-off'
  if ((!once && !stored) || resolution.kind === 'free' || !isWhole) return { ending, isStored: false }
  // R1: an answer that can be had by its id was given, and what has no hold cannot be charged after a crash.
  if ((await hold.durable) === 'lost') return { ending, isStored: false }
  const { usage, told } = resolution
  const priced = priceUsage(price, usage)
  const { charge } = chargeWithin(hold.hold, priced)
  const settled = { usage: told, charge, tier: priced.tier, price }
  const last = () => (fate.kind === 'finished' ? lastWords.ofWhole(settled) : lastWords.ofBroken())
  const kept = await keepAnswer(
    { once, stored, voice, delivery: turn.delivery },
    { last, forgetLast: lastWords.forget, facts: { ...ending, usage } },
  )
  return { ending: once ? { ...ending, kept: kept.isKept } : ending, isStored: kept.isStored }
}

/** The one place where a turn's money is resolved, whatever its ending was. */
function settle(hold: AdmittedTurn, ending: Ending, resolution: Resolution, price: Price): Promise<SettleOutcome> {
  if (resolution.kind === 'free') return hold.release(ending)
  return hold.settle({ ...ending, usage: resolution.usage, ...priceUsage(price, resolution.usage) })
}
