import { z } from 'zod'
import type { Cycle } from '../../../model/cycle.ts'
import { modelGlob } from './model-schema.ts'
import { usd } from './money-scalars.ts'
import { duration, integer, integerOrOff, parseDuration, type Reading, read, scalar, wrong } from './scalars.ts'
import { section } from './section.ts'
import { identifier } from './upstream-schema.ts'

const windowSchema = section('A stretch of time with an allowance of its own.', {
  every: scalar<Cycle>(
    '5h, 7d: starts with the first use. week: from Monday, UTC. month: from the day of billing.',
    { type: 'string', pattern: '^(week|month|\\d+(m|h|d)|\\$\\{.+\\})$' },
    readWindow,
  ),
  allowance: usd('What may be used in it', '1000000'),
})

export const planSchema = section('What a Builder subscription grants.', {
  id: identifier('How accounts are put on it.'),
  models: z.array(modelGlob).min(1, 'at least one model').meta({ description: 'Models that it covers.' }),
  windows: z.array(windowSchema).min(1, 'at least one window').meta({ description: 'All of them must have room.' }),
})

export function readWindow(value: unknown): Reading<Cycle> {
  if (value === 'week') return read({ kind: 'week' })
  if (value === 'month') return read({ kind: 'month', day: 'billing' })
  const ms = typeof value === 'string' ? parseDuration(value) : undefined
  const day = 86_400_000
  return ms !== undefined && ms >= 60_000 && ms <= 366 * day
    ? read({ kind: 'anchored', ms })
    : wrong('a length from 1m to 366d such as 5h or 7d, or week, or month')
}

const COUNT = { min: 1, max: 1_000_000_000_000 }

const burst = () =>
  duration('How many seconds’ worth of the rates may be taken at once after a pause.', {
    min: '1s',
    max: '1h',
  }).prefault('60s')

const ratesSchema = (subject: string) =>
  section(`What ${subject} may do. A key that is left out sets no limit.`, {
    requests_per_minute: integer('Requests in a minute.', COUNT).optional(),
    tokens_per_minute: integer('Tokens in a minute, input and output.', COUNT).optional(),
    concurrent: integer('Requests at once.', COUNT).optional(),
    burst: burst(),
  }).prefault({})

const addressSchema = section('What one address (of IPv6: one /64) may do without a valid key.', {
  refused_per_minute: integerOrOff('Requests in a minute that get 401; further ones get 429.', COUNT).prefault(300),
  burst: burst(),
}).prefault({})

export const limitsSchema = section('Limits that apply to everybody; those of a key itself come before them.', {
  key: ratesSchema('one key'),
  account: ratesSchema('all keys of one account together'),
  account_model: ratesSchema('one account with one model'),
  model: ratesSchema('everybody together with one model'),
  address: addressSchema,
  keys_per_account: integer('Keys that one account may have which are not revoked.', { min: 1, max: 10_000 }).prefault(
    200,
  ),
})
