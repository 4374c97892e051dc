import { chargeWithin } from '../books/close-turn.ts'
import type { AdmittedTurn, Ending } from '../ledger/ledger.ts'
import { priceUsage } from '../metering/price-usage.ts'
import type { Price } from '../model/price.ts'
import { endingBytes } from './deliver-end.ts'
import type { Resolution } from './ending.ts'
import type { OnceTurn } from './once-turn.ts'
import type { Run } from './run.ts'
import type { TurnCall } from './turn-call.ts'

export interface EndedTurn {
  readonly price: Price
  readonly hold: AdmittedTurn
  readonly run: Run
  readonly resolution: Resolution
  readonly ending: Ending
}

/**
 * Keeps the answer of a turn with an idempotency key before anything is charged for it: a charge without its answer would
 * be money for nothing, an answer without its charge is charged by recovery. Only what was charged and said to its end,
 * be it an error's, is an answer to give again. Returns the ending with whether it was kept.
 */
export async function keepAnswer(call: TurnCall, once: OnceTurn, end: EndedTurn): Promise<Ending> {
  const { price, hold, run, resolution, ending } = end
  if (resolution.kind === 'free') return ending
  const priced = priceUsage(price, resolution.usage)
  const { charge } = chargeWithin(hold.hold, priced)
  const last = endingBytes(call, run.fate, { usage: resolution.told, charge, tier: priced.tier, price })
  if (last === undefined) return ending
  once.recording.close(last)
  return { ...ending, kept: await once.keep({ ...ending, usage: resolution.usage }) }
}
