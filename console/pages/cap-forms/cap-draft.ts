import type { AnswerOf, BodyOf } from '../../../src/contract/console-api.ts'
import { isQuota } from '../../lib/cap-kinds.ts'
import { nanoOf, readMoney } from '../../lib/money.ts'

export const CAP_FIELDS = ['day', 'week', 'month', 'quarter', 'total', 'requests_day', 'tokens_day'] as const
export type CapField = (typeof CAP_FIELDS)[number]
export type SetCaps = AnswerOf<'GET /teams/:team'>['caps']
export type CapStatus = AnswerOf<'GET /teams/:team'>['spent'][number]
export type CapsBody = BodyOf<'PATCH /new-key-caps'>

/** The fields as typed; empty: no cap. */
export type CapDraft = Readonly<Record<CapField, string>>

export const draftOfCaps = (caps: SetCaps): CapDraft =>
  Object.fromEntries(CAP_FIELDS.map((name) => [name, caps[name]?.toString() ?? ''])) as CapDraft

/** The caps themselves. A cap that is raised for a while shows its higher limit here, and stays if it is not changed. */
export const capsOfStatuses = (spent: readonly CapStatus[]): SetCaps =>
  Object.fromEntries(spent.map(({ name, limit }) => [name, isQuota(name) ? Number(limit) : limit]))

const USD_MAX = nanoOf('1000000')
const QUOTA_MAX = 1_000_000_000_000

/** Undefined for what is no amount. */
export function readCapAmount(name: string, typed: string): string | undefined {
  const text = typed.trim()
  if (isQuota(name)) return /^[1-9]\d{0,12}$/.test(text) && Number(text) <= QUOTA_MAX ? text : undefined
  const amount = readMoney(text)
  return amount !== undefined && nanoOf(amount) <= USD_MAX ? amount : undefined
}

/** Only what has changed, so that a change that is made elsewhere meanwhile stays. */
export function readCapDraft(
  before: SetCaps,
  draft: CapDraft,
): { readonly body: CapsBody; readonly wrong: readonly CapField[] } {
  const was = draftOfCaps(before)
  const changed = CAP_FIELDS.filter((name) => draft[name].trim() !== was[name])
  const read = changed.map((name) => {
    const amount = draft[name].trim() === '' ? null : readCapAmount(name, draft[name])
    return [name, amount !== null && amount !== undefined && isQuota(name) ? Number(amount) : amount] as const
  })
  return {
    body: Object.fromEntries(read.filter(([, amount]) => amount !== undefined)) as CapsBody,
    wrong: read.filter(([, amount]) => amount === undefined).map(([name]) => name),
  }
}
