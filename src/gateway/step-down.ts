import type { CatalogEntry } from '../catalog/catalog.ts'
import type { Admission, CallerCheck } from '../ledger/ledger.ts'
import type { AdmitRequest } from '../ledger/state/turns.ts'
import type { Caller } from '../model/caller.ts'
import { heldAmountFor } from '../model/price.ts'
import type { StepDown } from '../model/step-down.ts'
import { withStepTag } from '../model/tags.ts'
import type { TurnRequest } from '../model/turn.ts'
import { planTurn } from './plan-turn.ts'
import type { PlannedTurn, TurnServices } from './turn.ts'
import type { TurnInput } from './turn-input.ts'

interface Offered {
  readonly turn: PlannedTurn
  readonly caller: Caller
  readonly check: CallerCheck
}

/** What a cheaper model may avoid. What running requests hold comes free soon, so the client is asked to wait for it. */
const SHORT: readonly string[] = ['short', 'cap-reached', 'exhausted', 'exceeds-allowance', 'quota-reached']
/** Without a word from the model that was asked for, these do not decide for it. */
const OF_THE_CHEAPER: readonly string[] = [...SHORT, 'in-flight', 'quota-in-flight', 'limited', 'too-large-for-limit']

/**
 * Admits a turn of a model that has a cheaper one to step down to. The cheaper one is tried where the money that is left does not cover the
 * whole answer, or little is left. It is planned and held like a request that names it, so nothing of the first attempt remains.
 */
export async function admitOrStepDown(
  services: TurnServices,
  input: TurnInput,
  { turn, caller, check }: Offered,
  stepDown: StepDown,
): Promise<{ readonly turn: PlannedTurn; readonly admission: Admission }> {
  const { ledger } = services
  const whole = ofWholeAnswer(turn.admitRequest)
  const isNear = stepDown.below_percent > 0 && (await isNearCap(services, turn.admitRequest, stepDown.below_percent))
  const first = isNear ? undefined : await ledger.admit(whole, check)
  if (first?.kind === 'admitted') return { turn, admission: first }
  // A hold may be there that this process has not heard of: nothing else is admitted for the same request.
  if (first !== undefined && !SHORT.includes(first.refusal.kind)) return { turn, admission: first }
  const lower = await planLower(services, input, { turn, caller }, stepDown)
  const admission = lower && (await ledger.admit(lower.admitRequest, check))
  if (lower !== undefined && admission?.kind === 'admitted') {
    input.sink.announce({ 'x-millrace-stepped-down': headerText(input.request.model) })
    return { turn: lower, admission }
  }
  if (lower !== undefined && admission?.kind === 'refused') {
    const undecided = first === undefined ? OF_THE_CHEAPER : SHORT
    if (!undecided.includes(admission.refusal.kind)) return { turn: lower, admission }
  }
  // The refusal, or the shorter answer, is that of the model which was asked for.
  const isDecided = first !== undefined && whole === turn.admitRequest
  return { turn, admission: isDecided ? first : await ledger.admit(turn.admitRequest, check) }
}

/** Near the end of a run a shorter answer is admitted. A whole one of the cheaper model comes before that. */
function ofWholeAnswer(request: AdmitRequest): AdmitRequest {
  const { clientCap, chosenCap, allowances } = request
  if (clientCap === undefined || !allowances.some(({ holder }) => holder === 'run')) return request
  return { ...request, chosenCap: { ...chosenCap, tokensMin: Math.max(clientCap, chosenCap.tokensMin) } }
}

/** Of a cap, a run or a window that the turn draws on less than this share is left. Admission decides on the money itself. */
async function isNearCap(
  { ledger }: TurnServices,
  { account, allowances }: AdmitRequest,
  belowPercent: number,
): Promise<boolean> {
  if (allowances.length === 0 || !ledger.gate.open) return false
  try {
    const { statuses } = await ledger.allowanceStatuses(account, allowances)
    return statuses.some(({ granted, posted, held }) => (posted - held) * 100n < granted * BigInt(belowPercent))
  } catch {
    // The database is away: admission says so.
    return false
  }
}

/** Undefined where the caller may not call the cheaper model, or it cannot serve the request. */
async function planLower(
  services: TurnServices,
  input: TurnInput,
  { turn, caller }: Pick<Offered, 'turn' | 'caller'>,
  { to }: StepDown,
): Promise<PlannedTurn | undefined> {
  const entry = services.catalog.entries.get(to)
  const { request } = input
  // The key names one model for all that it calls.
  if (entry === undefined || to === request.model) return undefined
  const tags = withStepTag(input.tags, request.model)
  const planned = await planTurn(services, { ...input, request: requestFor(entry, request), tags }, caller)
  return planned.kind === 'planned' && costsNoMore(planned.turn, turn) ? planned.turn : undefined
}

/** The key names one model for all that it calls: a request for a cheaper one than that stays as it is. */
function costsNoMore({ admitRequest: lower }: PlannedTurn, { admitRequest: asked }: PlannedTurn): boolean {
  const cap = asked.clientCap ?? Math.min(asked.modelCap, lower.modelCap)
  return heldAmountFor(lower.terms, cap) <= heldAmountFor(asked.terms, cap)
}

/** The same request of another model. Its effort stays if that model has it; else it is the one of the id, the model's first, or none. */
function requestFor({ id, model, suffixEffort }: CatalogEntry, request: TurnRequest): TurnRequest {
  const { effort } = request
  if (effort === undefined) return { ...request, model: id }
  if (suffixEffort !== undefined) return { ...request, model: id, effort: undefined }
  const { efforts } = model
  if (efforts === undefined || efforts.includes(effort)) return { ...request, model: id }
  return { ...request, model: id, effort: efforts[0] }
}

const headerText = (model: string): string => model.replace(/[^\x21-\x7e]/g, '?')
