import { z } from 'zod'
import { CAP_NAMES } from '../model/allowance.ts'
import { caps, raiseBody } from './caps.ts'
import { creditBody } from './operate.ts'
import { createKeyBody } from './owner.ts'
import { role } from './people.ts'
import { email, line, named } from './values.ts'

/** A span such as `30d` would be another day with each run. */
const day = z
  .string()
  .max(40)
  .regex(/^\d{4}-\d{2}-\d{2}/, 'must be a date, such as 2027-01-31')

const raiseEntry = raiseBody.extend({ until: day })

/** Absent caps stay as they are; null removes one. */
const capTerms = {
  caps: caps.optional(),
  raises: z
    .array(raiseEntry)
    .max(CAP_NAMES.length)
    .refine((raises) => new Set(raises.map(({ cap }) => cap)).size === raises.length, 'a cap has one raise at a time')
    .optional(),
}

/** Without a role, that of a person who has signed up stays, and a new one becomes an owner. */
const personEntry = z.strictObject({ email, role: role.optional(), disabled: z.boolean().optional(), ...capTerms })

/** A team of the account with this id, else the one with this name, else a new one. */
const teamEntry = z.strictObject({
  id: named.optional(),
  name: line(100),
  archived: z.boolean().optional(),
  ...capTerms,
})

/**
 * A key of the account with this id, else the one with this name, else a new one. Absent terms stay as they are; null removes
 * one.
 */
const keyEntry = createKeyBody.extend({
  id: named.optional(),
  expires: day.nullable().optional(),
  disabled: z.boolean().optional(),
  raises: capTerms.raises,
})

/** Reports the second of two entries that mean the same thing. */
const withoutRepeats =
  <Entry>(nameOf: (entry: Entry) => string, what: string) =>
  (entries: readonly Entry[], context: z.RefinementCtx): void => {
    const seen = new Set<string>()
    for (const [index, entry] of entries.entries()) {
      const name = nameOf(entry)
      if (seen.has(name)) {
        context.addIssue({ code: 'custom', path: [index], message: `another entry has this ${what}: ${name}` })
      }
      seen.add(name)
    }
  }

const ENTRIES_MAX = 1000

/** One account as it should be. What an entry does not name is left alone. */
const accountEntry = z
  .strictObject({
    email,
    status: z.enum(['active', 'suspended']).optional(),
    /** Null ends the subscription. */
    plan: named.nullable().optional(),
    plan_until: day.nullable().optional(),
    credit: z
      .array(creditBody)
      .max(ENTRIES_MAX)
      .superRefine(withoutRepeats(({ ref }) => ref, 'ref'))
      .optional(),
    people: z
      .array(personEntry)
      .max(ENTRIES_MAX)
      .superRefine(withoutRepeats((person) => person.email, 'email'))
      .optional(),
    teams: z
      .array(teamEntry)
      .max(ENTRIES_MAX)
      .superRefine(withoutRepeats(({ id, name }) => id ?? name, 'name'))
      .optional(),
    /** Of keys that are created without caps. */
    new_key_caps: caps.optional(),
    keys: z
      .array(keyEntry)
      .max(ENTRIES_MAX)
      .superRefine(withoutRepeats(({ id, name }) => id ?? name, 'name'))
      .optional(),
    /** Revokes the keys that the list does not name. */
    prune: z.boolean().optional(),
  })
  .refine(({ prune, keys }) => prune !== true || keys !== undefined, {
    path: ['prune'],
    message: 'needs a list of keys; an empty list revokes all',
  })

export type AccountEntry = z.output<typeof accountEntry>

const accounts = z
  .array(accountEntry)
  .superRefine(withoutRepeats((account) => account.email, 'email'))
  .superRefine((entries, context) => {
    const accountOf = new Map<string, number>()
    for (const [index, { people = [] }] of entries.entries()) {
      for (const [at, { email: person }] of people.entries()) {
        const other = accountOf.get(person) ?? index
        accountOf.set(person, other)
        if (other === index) continue
        const message = `a person has one account, and ${person} is also in that of ${entries[other]!.email}`
        context.addIssue({ code: 'custom', path: [index, 'people', at, 'email'], message })
      }
    }
  })

/** The whole file: `accounts:` and a list. */
export const accountsFile = z.strictObject({ accounts })

/** Accounts in one call: few enough that the others are served meanwhile. */
export const APPLIED_AT_ONCE = 25

export const applyBody = z.strictObject({
  accounts: accounts.max(APPLIED_AT_ONCE),
  /** Plans, and changes nothing. */
  dry_run: z.boolean().optional(),
  /** The `plan` of a dry run: nothing is changed if the accounts have changed since. */
  expect: z.string().max(100).optional(),
})

const aboutEntry = z.strictObject({ path: z.array(z.union([z.string(), z.int()])), message: z.string() })

export const applied = z.strictObject({
  /** Names the list of changes. */
  plan: z.string(),
  changes: z.array(
    z.strictObject({
      account: z.string(),
      action: z.enum(['create', 'change', 'remove']),
      what: z.string(),
    }),
  ),
  /** What is wrong with the entries. With one of them nothing is changed. */
  problems: z.array(aboutEntry),
  /** What of the entries is left out. */
  warnings: z.array(aboutEntry),
  /** How many of the changes were made: all, or those before the failure. */
  done: z.int().nonnegative(),
  failure: z.strictObject({ account: z.string(), what: z.string(), message: z.string() }).nullable(),
  /** Returned once and stored nowhere. */
  secrets: z.array(z.strictObject({ account: z.string(), key: z.string(), id: z.string(), secret: z.string() })),
  /** One-time links to sign up. */
  links: z.array(z.strictObject({ account: z.string(), email: z.string(), link: z.string() })),
})
