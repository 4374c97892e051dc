import type { z } from 'zod'
import type { Catalog } from '../../catalog/catalog.ts'
import { admits } from '../../catalog/visible-models.ts'
import type { KeyTerms, keyCaps } from '../../contract/keys.ts'
import type { Clock } from '../../lib/clock.ts'
import type { KeyKind } from '../../model/caller.ts'
import type { KeyChange } from '../../store/keys.ts'
import { parseExpiry, unreadableMoment } from '../moments.ts'
import { type Refused, refused } from '../outcome.ts'
import { readAmount } from '../read-amount.ts'

export interface ReadTermsDeps {
  readonly clock: Clock
  readonly catalog: () => Catalog
}

/** Columns of a key; what was not named is not in here. */
type TermColumns = Pick<KeyChange, 'name' | 'models' | 'limits' | 'expires_at' | 'cap_day_nano' | 'cap_month_nano'>

type ReadTerms = { readonly kind: 'read'; readonly columns: TermColumns } | Refused

/** The terms of a key, new or changed, as they are stored. */
export function readTerms(deps: ReadTermsDeps, kind: KeyKind, terms: KeyTerms): ReadTerms {
  const { name, models, limits, caps, expires } = terms
  const unmatched = unmatchedModels(deps.catalog(), kind, models ?? [])
  if (unmatched.length > 0) return noSuchModel(kind, unmatched)
  const expiresAt = expires == null ? expires : (parseExpiry(expires, deps.clock.now()) ?? 'unreadable')
  if (expiresAt === 'unreadable') return unreadableMoment(expires ?? '', 'expires')
  const read = readCaps(caps ?? {})
  if (read.kind === 'refused') return read
  const columns = {
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models: models && JSON.stringify(models) }),
    ...(limits !== undefined && { limits: limitsColumn(limits) }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...read.columns,
  }
  return { kind: 'read', columns }
}

/** The entries of a key's list that admit no model of its kind: most likely misspelt, and found out too late otherwise. */
function unmatchedModels(catalog: Catalog, kind: KeyKind, listed: readonly string[]): string[] {
  const entries = [...catalog.entries.values()].filter(({ model }) => model.kinds.includes(kind))
  return listed.filter((name) => !entries.some((entry) => admits(name, entry)))
}

const noSuchModel = (kind: KeyKind, names: readonly string[]): Refused =>
  refused('model_not_found', `No model for ${kind} keys matches ${names.join(', ')}. See: millrace models`, {
    param: 'models',
  })

type Caps = Pick<TermColumns, 'cap_day_nano' | 'cap_month_nano'>

function readCaps({
  day,
  month,
}: z.output<typeof keyCaps>): { readonly kind: 'read'; readonly columns: Caps } | Refused {
  const [ofDay, ofMonth] = [readCap(day, 'caps.day'), readCap(month, 'caps.month')]
  if (ofDay.kind === 'refused') return ofDay
  if (ofMonth.kind === 'refused') return ofMonth
  const columns = {
    ...(ofDay.amount !== undefined && { cap_day_nano: ofDay.amount }),
    ...(ofMonth.amount !== undefined && { cap_month_nano: ofMonth.amount }),
  }
  return { kind: 'read', columns }
}

const readCap = (text: string | null | undefined, param: 'caps.day' | 'caps.month') =>
  text == null ? ({ kind: 'read', amount: text } as const) : readAmount(text, param)

const limitsColumn = (limits: NonNullable<KeyTerms['limits']>): Record<string, number | null> => ({
  ...(limits.requests_per_minute !== undefined && { requestsPerMinute: limits.requests_per_minute }),
  ...(limits.tokens_per_minute !== undefined && { tokensPerMinute: limits.tokens_per_minute }),
  ...(limits.concurrent !== undefined && { concurrent: limits.concurrent }),
})
