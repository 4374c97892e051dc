import { chargeWithin } from '../books/close-turn.ts'
import type { Model } from '../catalog/catalog.ts'
import type { AdmittedTurn, Ending, SettleOutcome } from '../ledger/ledger.ts'
import { priceUsage } from '../metering/price-usage.ts'
import type { SeenPrefixes } from '../metering/seen-prefixes.ts'
import type { Price } from '../model/price.ts'
import { conversationOf } from './conversation.ts'
import { deliverEnd } from './deliver-end.ts'
import { type Resolution, resolveEnding } from './ending.ts'
import { createLastWords, type LastWords } from './last-words.ts'
import type { AdmissionPlan } from './plan-admission.ts'
import type { Run } from './run.ts'
import { msBetween } from './run-lanes.ts'
import type { Sink } from './sink.ts'
import type { StoredTurn } from './stored-turn.ts'
import type { TurnCall } from './turn-call.ts'
import { recordOf, type TurnRecord } from './turn-record.ts'
import type { TurnVoice } from './turn-voice.ts'

export interface EndDeps {
  readonly seen: SeenPrefixes
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
}

/** What comes of a turn when its providers are done: what it means for the money, what is kept, the settle, the last words. */
export async function endTurn(deps: EndDeps, call: TurnCall, end: TurnAtItsEnd): Promise<TurnRecord> {
  const { model, price, hold, run, voice, sink, stored } = end
  const headGone = sink.phase !== 'quiet'
  const resolution = resolveEnding(run, { ...boundsOf(call, end), headGone })
  // Whatever was charged for was read by a provider, and is in its cache for a while.
  if (resolution.kind === 'charge' && price.cachedInput < price.input) deps.seen.remember(conversationOf(call, model))
  const lastWords = createLastWords(voice, run.fate)
  const ending = await keep(call, end, { resolution, lastWords, ending: endingOf(deps, call, run, resolution) })
  const settled = await settle(hold, ending, resolution, price)
  const said = deliverEnd({ sink, voice }, run.fate, { lastWords, resolution, settled, price })
  // Whoever was told by its status that nothing came of it must not be charged for it by recovery.
  if (call.once && said?.code === 'ledger_unavailable') await call.once.forget()
  if (said && !headGone) await stored?.forget()
  else await stored?.end(resolution.outcome === 'client_gone' ? 'cancelled' : 'failed')
  return recordOf(model, ending, resolution, settled, said)
}

const boundsOf = ({ turn }: TurnCall, { model, plan, hold }: TurnAtItsEnd) => ({
  model,
  inputSize: turn.inputSize,
  inputBound: plan.inputBound,
  cachedEstimate: plan.request.cachedEstimate,
  outputBound: hold.cap * turn.choices,
})

const endingOf = (deps: EndDeps, { startedAt }: TurnCall, run: Run, { outcome }: Resolution): Ending => ({
  outcome,
  lane: run.lane?.id,
  firstByteMs: run.firstContentAt === undefined ? undefined : msBetween(startedAt, run.firstContentAt),
  totalMs: msBetween(startedAt, deps.ticks()),
  attempts: run.attempts,
})

/** The answer first, then its charge: what is kept already tells the charge that it will have. */
async function keep(
  { once }: TurnCall,
  { hold, price, stored, run: { fate } }: TurnAtItsEnd,
  { resolution, lastWords, ending }: { resolution: Resolution; lastWords: LastWords; ending: Ending },
): Promise<Ending> {
  const isWhole = fate.kind === 'finished' || fate.kind === 'broken-off'
  if ((!once && !stored) || resolution.kind === 'free' || !isWhole) return ending
  // R1: an answer that can be had by its id was given, and what has no hold cannot be charged after a crash.
  if ((await hold.durable) === 'lost') return ending
  const { usage, told } = resolution
  const priced = priceUsage(price, usage)
  const { charge } = chargeWithin(hold.hold, priced)
  const settled = { usage: told, charge, tier: priced.tier, price }
  const last = fate.kind === 'finished' ? lastWords.ofWhole(settled) : lastWords.ofBroken()
  const facts = { ...ending, usage }
  const [kept] = await Promise.all([once?.keep(last, facts), stored?.keep(last, facts)])
  return kept === undefined ? ending : { ...ending, kept }
}

/** The one place where a turn's money is resolved, whatever its ending was. */
function settle(hold: AdmittedTurn, ending: Ending, resolution: Resolution, price: Price): Promise<SettleOutcome> {
  if (resolution.kind === 'free') return hold.release(ending)
  return hold.settle({ ...ending, usage: resolution.usage, ...priceUsage(price, resolution.usage) })
}
