import { z } from 'zod'
import { count, line, moment, money, time, timeOrNull } from './values.ts'

/** What operators manage beside the configuration file: the list of the file, and what its items are called. */
export const MANAGED_LISTS = { upstreams: 'upstream', models: 'model', plans: 'plan' } as const
export type ManagedList = keyof typeof MANAGED_LISTS
export type ManagedKind = (typeof MANAGED_LISTS)[ManagedList]
export const MANAGED_KINDS = ['upstream', 'model', 'plan'] as const satisfies readonly ManagedKind[]

/** An item as the configuration file has it. Its keys are checked by the schema of the file. */
const entry = z.record(z.string(), z.unknown())
export type ManagedShape = z.output<typeof entry>

/** An entry that operators manage beside the file, in the shape of the file, with its secrets. */
export interface ManagedEntry {
  readonly kind: ManagedKind
  readonly name: string
  readonly entry: ManagedShape
}

/** What names an entry. Kinds have no spaces. */
export const managedKey = ({ kind, name }: Pick<ManagedEntry, 'kind' | 'name'>): string => `${kind} ${name}`

/** As long as the longest id of a model. */
const entryName = line(200)

const ENTRIES_MAX = 200

export const changedPrice = z.strictObject({
  model: entryName,
  /** As in the file. Null: calls off the price of that date. */
  price: entry.nullable(),
  /** A date (2027-01-31), a time or a span (12h, 7d); without it at once. */
  from: moment.optional(),
})

/** A change of managed entries. It is made as a whole, or refused as a whole. */
export const managedChange = z.strictObject({
  upstreams: z.array(entry).max(ENTRIES_MAX).optional(),
  models: z.array(entry).max(ENTRIES_MAX).optional(),
  plans: z.array(entry).max(ENTRIES_MAX).optional(),
  prices: z.array(changedPrice).max(ENTRIES_MAX).optional(),
  retire: z
    .array(z.strictObject({ kind: z.enum(MANAGED_KINDS), name: entryName }))
    .max(ENTRIES_MAX)
    .optional(),
  /** Refuses the change if another one was made since this revision was read. */
  revision: count.optional(),
})
export type ManagedChange = z.output<typeof managedChange>

/** A price of a model that takes effect later. */
const datedPrice = z.strictObject({ from: time, price: entry, created_at: time, created_by: z.string() })

export const managedItem = z.strictObject({
  kind: z.enum(MANAGED_KINDS),
  name: z.string(),
  /** Where the file has this name, as `millrace.yaml:12:5`: then the file decides. Null: managed. */
  file: z.string().nullable(),
  /** As it was saved, without secrets, with the price in force. Null: only the file has it. */
  entry: entry.nullable(),
  /** Of a model that the file has: its price in force, in USD per million tokens. Null: see `entry`. */
  price: entry.nullable(),
  /** Which secrets are stored: `api_key`, `headers.x-org`. They are never shown. */
  secrets: z.array(z.string()),
  created_at: timeOrNull,
  created_by: z.string().nullable(),
  /** Sorted by date. */
  prices: z.array(datedPrice),
  /** Why it is not in force although the file does not have it; null if it is. */
  problem: z.string().nullable(),
})

export const managedAnswer = z.strictObject({
  revision: count,
  items: z.array(managedItem),
  /** Why the last change is not in force on this node; null if it is. */
  not_applied: z.string().nullable(),
})

/** Earlier versions of an entry, newest first. */
export const managedHistory = z.strictObject({
  items: z.array(
    z.strictObject({
      revision: count,
      what: z.enum([...MANAGED_KINDS, 'price']),
      /** Null: retired, or a price called off. */
      entry: entry.nullable(),
      from: time,
      created_at: time,
      created_by: z.string(),
    }),
  ),
})
export const historyQuery = z.strictObject({ kind: z.enum(MANAGED_KINDS), name: entryName })

export const previewBody = z.strictObject({ model: entryName, price: entry })

const sums = { requests: count, charged: money, would_be: money, change: money }

/** What the requests of the last days cost, and what the new price would make of them. */
export const pricePreview = z.strictObject({
  model: z.string(),
  from: time,
  to: time,
  ...sums,
  /** What providers were owed for them; null where a lane has no cost in the configuration. */
  cost: money.nullable(),
  margin: money.nullable(),
  margin_would_be: money.nullable(),
  /** The accounts that paid most. */
  accounts: z.array(z.strictObject({ account: z.string(), email: z.string(), ...sums })),
  /** How many accounts there are in all. */
  accounts_total: count,
  /** False: there were too many requests to look at all; `from` is the oldest that was. */
  complete: z.boolean(),
})

/** A provider that is not saved yet, or the name of one that is. */
export const providerBody = z.strictObject({ upstream: entry })

export const foundModels = z.strictObject({
  ok: z.boolean(),
  /** What went wrong; null if the provider has answered. */
  message: z.string().nullable(),
  models: z.array(
    z.strictObject({
      id: z.string(),
      /** An entry of the list, from what is known about the model. Null: nothing is known. */
      proposal: entry.nullable(),
    }),
  ),
})

export const testBody = z.strictObject({ upstream: entry, model: entryName })
export const testedModel = z.strictObject({
  ok: z.boolean(),
  message: z.string(),
  cure: z.string().nullable(),
  provider_says: z.string().nullable(),
  first_word_ms: z.number().nullable(),
  total_ms: z.number().nullable(),
})
