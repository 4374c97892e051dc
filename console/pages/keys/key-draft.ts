import type { BodyOf } from '../../../src/contract/console-api.ts'
import { nanoOf, readMoney } from '../../lib/money.ts'
import { dayStart, isDay } from '../../lib/time-zones.ts'
import type { OwnKey } from './key-facts.tsx'

export const NAME_MAX = 100
export const EXPIRY_SPANS = ['7d', '30d', '90d', '365d'] as const
export const LIMITS = ['requests_per_minute', 'tokens_per_minute', 'concurrent'] as const
type LimitName = (typeof LIMITS)[number]
type ExpiryChoice = 'keep' | 'never' | (typeof EXPIRY_SPANS)[number] | 'day'

export const RUN_CHOICES = ['none', 'required', 'each_conversation'] as const
type RunChoice = (typeof RUN_CHOICES)[number]
type RunRule = OwnKey['run']
type ConversationBudget = Exclude<RunRule, null | 'required'>['each_conversation']

/** The form values of a key as typed. */
export interface KeyDraft {
  readonly name: string
  /** Null: all models. */
  readonly models: readonly string[] | null
  readonly day: string
  readonly month: string
  /** Separated by spaces, commas or lines. */
  readonly addresses: string
  readonly run: RunChoice
  /** Of each conversation, in USD. */
  readonly runMax: string
  /** The other bounds of each conversation, which the form leaves alone. */
  readonly runBounds: Omit<ConversationBudget, 'max'>
  /** The cheaper model; empty: none of its own. */
  readonly stepDown: string
  /** In percent. */
  readonly stepDownBelow: string
  readonly limits: Readonly<Record<LimitName, string>>
  readonly expiry: ExpiryChoice
  readonly expiryDay: string
}

export const NEW_DRAFT: KeyDraft = {
  ...{ name: '', models: null, day: '', month: '', addresses: '', expiry: 'never', expiryDay: '' },
  ...{ run: 'none', runMax: '', runBounds: {}, stepDown: '', stepDownBelow: '' },
  limits: { requests_per_minute: '', tokens_per_minute: '', concurrent: '' },
}

export function draftOf(key: OwnKey): KeyDraft {
  const capOf = (name: string) => key.caps.find((cap) => cap.name === name)?.limit ?? ''
  const limitOf = (name: LimitName) => key.limits[name]?.toString() ?? ''
  return {
    ...{ name: key.name, models: key.models, day: capOf('day'), month: capOf('month'), expiryDay: '' },
    addresses: key.addresses?.join('\n') ?? '',
    ...runDraftOf(key.run),
    stepDown: key.step_down?.to ?? '',
    stepDownBelow: key.step_down?.below_percent.toString() ?? '',
    limits: {
      requests_per_minute: limitOf('requests_per_minute'),
      tokens_per_minute: limitOf('tokens_per_minute'),
      concurrent: limitOf('concurrent'),
    },
    expiry: key.expires_at === null ? 'never' : 'keep',
  }
}

function runDraftOf(rule: RunRule): Pick<KeyDraft, 'run' | 'runMax' | 'runBounds'> {
  if (rule === null || rule === 'required') return { run: rule ?? 'none', runMax: '', runBounds: {} }
  const { max = '', ...runBounds } = rule.each_conversation
  return { run: 'each_conversation', runMax: max, runBounds }
}

export type WrongField = 'name' | 'models' | 'day' | 'month' | 'addresses' | 'run' | 'stepDown' | 'expiry' | LimitName

type Terms = Pick<BodyOf<'POST /keys'>, 'models' | 'addresses' | 'expires'> & {
  readonly run: RunRule
  readonly step_down: OwnKey['step_down']
  readonly name: string
  readonly caps: { readonly day: string | null; readonly month: string | null }
  readonly limits: Readonly<Record<LimitName, number | null>>
}

/** Parses the form and lists the invalid fields. `expires` is absent if it does not change. */
export function readDraft(draft: KeyDraft, zone: string, now: number): { terms: Terms; wrong: readonly WrongField[] } {
  const limits = {
    requests_per_minute: readCount(draft.limits.requests_per_minute),
    tokens_per_minute: readCount(draft.limits.tokens_per_minute),
    concurrent: readCount(draft.limits.concurrent),
  }
  const caps = { day: readCap(draft.day), month: readCap(draft.month) }
  const expires = readExpiry(draft, zone, now)
  const addresses = draft.addresses.split(/[\s,]+/).filter((each) => each !== '')
  const run = readRun(draft)
  const stepDown = readStepDown(draft)
  const wrong: WrongField[] = [
    ...(draft.name.trim() === '' ? (['name'] as const) : []),
    ...(draft.models?.length === 0 ? (['models'] as const) : []),
    ...(['day', 'month'] as const).filter((name) => caps[name] === undefined),
    ...LIMITS.filter((name) => limits[name] === undefined),
    ...(addresses.length > ADDRESSES_MAX || !addresses.every(isNetwork) ? (['addresses'] as const) : []),
    ...(run === undefined ? (['run'] as const) : []),
    ...(stepDown === undefined ? (['stepDown'] as const) : []),
    ...(expires === 'wrong' ? (['expiry'] as const) : []),
  ]
  const terms: Terms = {
    name: draft.name.trim(),
    models: draft.models === null ? null : [...draft.models],
    caps: { day: caps.day ?? null, month: caps.month ?? null },
    addresses: addresses.length === 0 ? null : addresses,
    run: run ?? null,
    step_down: stepDown ?? null,
    limits: {
      requests_per_minute: limits.requests_per_minute ?? null,
      tokens_per_minute: limits.tokens_per_minute ?? null,
      concurrent: limits.concurrent ?? null,
    },
    ...(expires !== 'keep' && expires !== 'wrong' && { expires }),
  }
  return { terms, wrong }
}

const ADDRESSES_MAX = 32
/** The shape alone; the server reads it. */
const isNetwork = (text: string): boolean => /^[\da-f.:]{2,45}(\/\d{1,3})?$/i.test(text)

const CAP_MAX = nanoOf('1000000')
const COUNT_MAX = 1_000_000_000_000

/** Null for an empty field, undefined for an invalid one. */
function readCap(typed: string): string | null | undefined {
  if (typed.trim() === '') return null
  const amount = readMoney(typed)
  return amount !== undefined && nanoOf(amount) <= CAP_MAX ? amount : undefined
}

/** Undefined for an invalid one: a conversation needs a bound. */
function readRun({ run, runMax, runBounds }: KeyDraft): RunRule | undefined {
  if (run !== 'each_conversation') return run === 'none' ? null : run
  const max = readCap(runMax)
  if (max === undefined) return undefined
  if (max !== null) return { each_conversation: { max, ...runBounds } }
  const isBounded = runBounds.max_requests !== undefined || runBounds.max_tokens !== undefined
  return isBounded ? { each_conversation: runBounds } : undefined
}

/** Undefined for an invalid one. Whether there is such a model, the server knows. */
function readStepDown({ stepDown, stepDownBelow }: KeyDraft): OwnKey['step_down'] | undefined {
  const to = stepDown.trim()
  if (to === '') return null
  const percent = stepDownBelow.trim() === '' ? '0' : stepDownBelow.trim()
  return /^(\d{1,2}|100)$/.test(percent) ? { to, below_percent: Number(percent) } : undefined
}

function readCount(typed: string): number | null | undefined {
  if (typed.trim() === '') return null
  const count = /^\d{1,13}$/.test(typed.trim()) ? Number(typed) : 0
  return count > 0 && count <= COUNT_MAX ? count : undefined
}

function readExpiry({ expiry, expiryDay }: KeyDraft, zone: string, now: number): string | null {
  if (expiry === 'never') return null
  if (expiry !== 'day') return expiry
  const start = isDay(expiryDay) ? dayStart(expiryDay, zone) : undefined
  return start !== undefined && Date.parse(start) > now ? start : 'wrong'
}

/** Only the changed fields, so that concurrent edits of other fields are kept. */
export function changesOf(
  before: OwnKey,
  { name, models, caps, limits, addresses, run, step_down, ...rest }: Terms,
): BodyOf<'PATCH /keys/:key'> {
  const was = draftOf(before)
  const changedCaps = (['day', 'month'] as const).filter((cap) => (caps[cap] ?? '') !== was[cap])
  const changedLimits = LIMITS.filter((limit) => limits[limit] !== before.limits[limit])
  const isSameList = JSON.stringify(models ?? null) === JSON.stringify(before.models)
  const isSamePlace = JSON.stringify(addresses ?? null) === JSON.stringify(before.addresses)
  const isSameRun = JSON.stringify(run) === JSON.stringify(before.run)
  const isSameStep = JSON.stringify(step_down) === JSON.stringify(before.step_down)
  const isSameEnd = rest.expires === undefined || (rest.expires === null && before.expires_at === null)
  return {
    ...(name !== before.name && { name }),
    ...(!isSameList && { models }),
    ...(changedCaps.length > 0 && { caps: Object.fromEntries(changedCaps.map((cap) => [cap, caps[cap]])) }),
    ...(changedLimits.length > 0 && {
      limits: Object.fromEntries(changedLimits.map((limit) => [limit, limits[limit]])),
    }),
    ...(!isSamePlace && { addresses }),
    ...(!isSameRun && { run }),
    ...(!isSameStep && { step_down }),
    ...(!isSameEnd && { expires: rest.expires }),
  }
}
