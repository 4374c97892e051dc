import type { z } from 'zod'
import { type CapTerms, QUOTA_MAX, type raiseBody } from '../contract/caps.ts'
import {
  type CapAmounts,
  type CapOwner,
  capRaise,
  capsChange,
  capsOfOwners,
  endedRaisesDelete,
  listCapsOf,
  NEW_KEYS,
} from '../db/caps.ts'
import type { StoredPerson } from '../db/people.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { AllowanceStatus } from '../ledger/state/state.ts'
import {
  type Allowance,
  CAP_KINDS,
  CAP_NAMES,
  type CapHolder,
  type CapName,
  EVER_MS,
  measureOf,
} from '../model/allowance.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type OneAccount, resolveAccount, resolveOpenAccount } from './accounts.ts'
import type { AuditEntry } from './audit.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { findPerson } from './people.ts'
import type { AdminServices, DbService } from './services.ts'
import { isoTime, parseExpiry, quoted, readAmount, unreadableMoment } from './values.ts'

/** Amounts of the given caps: USD as text, requests and tokens as numbers. Null removes a cap. */
export function readCaps(terms: CapTerms): { readonly kind: 'read'; readonly amounts: CapAmounts } | OperationRefused {
  const amounts: CapAmounts = {}
  for (const name of CAP_NAMES) {
    const term = terms[name]
    if (typeof term === 'string') {
      const read = readAmount(term, `caps.${name}`)
      if (read.kind === 'refused') return read
      amounts[name] = read.amount
    } else if (term !== undefined) amounts[name] = term === null ? null : BigInt(term)
  }
  return { kind: 'read', amounts }
}

/** Caps that are set, as they are written. */
export type CapsView = { readonly [Name in CapName]?: Name extends `${string}_day` ? number : string }

export const capsView = (amounts: CapAmounts): CapsView =>
  Object.fromEntries(
    CAP_NAMES.flatMap((name) => {
      const amount = amounts[name]
      return amount == null ? [] : [[name, CAP_KINDS[name].measure === 'usd' ? formatUsd(amount) : Number(amount)]]
    }),
  )

/** The caps themselves, without raises. */
export const amountsOf = (caps: readonly Allowance[]): CapAmounts =>
  Object.fromEntries(caps.map(({ name, amount }) => [name, amount]))

export type CapView = ReturnType<typeof capView>

/** A cap in its current period. One lowered below what is used leaves zero, not less. */
export function capView({ allowance, period, granted, posted, held }: AllowanceStatus) {
  const left = posted > held ? posted - held : 0n
  const format = (amount: bigint) => (measureOf(allowance) === 'usd' ? formatUsd(amount) : amount.toString())
  const isEver = period.end === EVER_MS
  const { raised } = allowance
  return {
    ...{ name: allowance.name, holder: (allowance.holder ?? 'key') as CapHolder },
    ...{ limit: format(granted), used: format(granted - posted), held: format(held), left: format(left) },
    ...{ start: isEver ? null : isoTime(period.start), end: isEver ? null : isoTime(period.end) },
    raised_until: raised !== undefined && granted > allowance.amount ? isoTime(raised.until) : null,
  }
}

/** Of a person or a team: the caps, and what is left of them. */
export async function capsOf({ db, ledger }: Pick<AdminServices, 'db' | 'ledger'>, account: number, owner: CapOwner) {
  const [caps = []] = await capsOfOwners(db, account, [owner])
  const { statuses } = await ledger.allowanceStatuses(account as AccountRow, caps)
  return { caps: capsView(amountsOf(caps)), spent: statuses.map(capView) }
}

/** For the audit log. */
export const describeCapTerms = (terms: object): string =>
  Object.entries(terms)
    .map(([name, amount]) => `${name} ${amount ?? 'none'}`)
    .join(', ')

/** Whether a change of caps lets more be spent: a cap goes up, or goes. */
export const widensCaps = (before: CapAmounts, change: CapAmounts): boolean =>
  CAP_NAMES.some((name) => {
    const [was, is] = [before[name], change[name]]
    return is !== undefined && was != null && (is === null || is > was)
  })

export const confirmToSpendMore = refuseOperation(
  'confirm_password',
  'This lets more be spent than before. Confirm your password again.',
)

/** How far the caller may go. In the console, more than before needs a recently confirmed password. */
export interface CapRights {
  readonly mayWiden: boolean
}

export const ANY_CAPS: CapRights = { mayWiden: true }

type ChangeServices = Pick<AdminServices, 'db' | 'auditLog' | 'forgetAccount'>

interface CapChange {
  readonly owner: CapOwner | typeof NEW_KEYS
  readonly terms: CapTerms
  readonly entry: Omit<AuditEntry, 'actor' | 'account'>
  readonly rights: CapRights
}

async function amountsOfOwner(db: LedgerDb, account: number, owner: CapOwner | typeof NEW_KEYS): Promise<CapAmounts> {
  if (owner === NEW_KEYS) return (await listCapsOf(db, [account], [NEW_KEYS])).get(NEW_KEYS) ?? {}
  return amountsOf((await capsOfOwners(db, account, [owner]))[0] ?? [])
}

/** Counts from the next request on; what was spent in the running period stays. */
async function changeCaps(
  { db, auditLog, forgetAccount }: ChangeServices,
  account: number,
  { owner, terms, entry, rights }: CapChange,
): Promise<Outcome<undefined>> {
  const read = readCaps(terms)
  if (read.kind === 'refused') return read
  if (!rights.mayWiden && widensCaps(await amountsOfOwner(db, account, owner), read.amounts)) return confirmToSpendMore
  const statements = capsChange(account, owner, read.amounts)
  if (statements.length > 0)
    await auditLog.act({ ...entry, account }, statements).finally(() => forgetAccount(account as AccountRow))
  return done(undefined)
}

/** The caps that the keys of an account get when they are created without others. */
export async function showNewKeyCaps({ db }: DbService, { account: named }: OneAccount) {
  const resolved = await resolveAccount({ db }, named)
  if (resolved.kind === 'refused') return resolved
  const { row, id } = resolved.value
  return done({ account: id, caps: capsView((await listCapsOf(db, [row], [NEW_KEYS])).get(NEW_KEYS) ?? {}) })
}

export async function changeNewKeyCaps(
  services: AdminServices,
  { account: named, ...terms }: OneAccount & CapTerms,
  rights = ANY_CAPS,
) {
  const resolved = await resolveOpenAccount(services, named)
  if (resolved.kind === 'refused') return resolved
  const { row, id } = resolved.value
  const entry = { action: 'caps_changed', target: id, detail: `caps of new keys: ${describeCapTerms(terms)}` } as const
  const changed = await changeCaps(services, row, { owner: NEW_KEYS, terms, entry, rights })
  return changed.kind === 'refused' ? changed : showNewKeyCaps(services, { account: id })
}

/** By email or id, of an account: a person who has one. */
export async function resolveMember(
  { db }: DbService,
  named: string,
): Promise<Outcome<StoredPerson & { readonly account: number }>> {
  const person = await findPerson(db, named)
  if (person?.account == null)
    return refuseOperation('person_not_found', `No account has a person ${quoted(named)}. See: millrace people list`)
  return done({ ...person, account: person.account })
}

/** A person of an account, with what is left of their caps across all of their keys. */
export async function showMember(
  services: Pick<AdminServices, 'db' | 'ledger'>,
  { person: named }: { person: string },
) {
  const resolved = await resolveMember(services, named)
  if (resolved.kind === 'refused') return resolved
  const { row, id, email, role, account } = resolved.value
  return done({ id, email, role, ...(await capsOf(services, account, { holder: 'person', row })) })
}

export async function changeMemberCaps(
  services: AdminServices,
  { person: named, ...terms }: { person: string } & CapTerms,
  rights = ANY_CAPS,
) {
  const resolved = await resolveMember(services, named)
  if (resolved.kind === 'refused') return resolved
  const { row, id, email, account } = resolved.value
  const entry = { action: 'caps_changed', target: id, detail: `caps of ${email}: ${describeCapTerms(terms)}` } as const
  const changed = await changeCaps(services, account, { owner: { holder: 'person', row }, terms, entry, rights })
  return changed.kind === 'refused' ? changed : showMember(services, { person: id })
}

/** Whose cap is raised, and its caps. */
export interface RaisedCap {
  readonly account: number
  readonly target: string
  readonly name: string
  readonly caps: readonly Allowance[]
}

/** A higher amount of a cap until an end, after which the cap is as before. */
export async function raiseCap(
  { clock, auditLog, forgetAccount }: AdminServices,
  { account, target, name, caps }: RaisedCap,
  { cap: named, to, until }: z.output<typeof raiseBody>,
) {
  const cap = caps.find((each) => each.name === named)
  if (cap === undefined)
    return refuseOperation('cap_not_found', `${name} has no cap ${quoted(named)} that could be raised.`, {
      param: 'cap',
    })
  const read = measureOf(cap) === 'usd' ? readAmount(to, 'to') : readQuota(to)
  if (read.kind === 'refused') return read
  const { amount } = read
  if (amount <= cap.amount)
    return refuseOperation('invalid_amount', 'A raise is higher than the cap itself.', { param: 'to' })
  const end = parseExpiry(until, clock.now())
  if (end === undefined) return unreadableMoment(until, 'until')
  const entry = {
    action: 'cap_raised',
    target,
    account,
    detail: `${named} of ${name} to ${to} until ${isoTime(end)}`,
  } as const
  const statements = [endedRaisesDelete(clock.now()), capRaise(account, cap, { amount, until: end })]
  await auditLog.act(entry, statements).finally(() => forgetAccount(account as AccountRow))
  return done({ cap: named, to, until: isoTime(end) })
}

const readQuota = (text: string) =>
  /^[1-9]\d{0,12}$/.test(text) && Number(text) <= QUOTA_MAX
    ? ({ kind: 'read', amount: BigInt(text) } as const)
    : refuseOperation('invalid_amount', 'Write a whole number of requests or tokens.', { param: 'to' })

export async function raiseMemberCap(
  services: AdminServices,
  { person, ...raise }: { person: string } & z.output<typeof raiseBody>,
) {
  const resolved = await resolveMember(services, person)
  if (resolved.kind === 'refused') return resolved
  const { row, id, email, account } = resolved.value
  const [caps = []] = await capsOfOwners(services.db, account, [{ holder: 'person', row }])
  return raiseCap(services, { account, target: id, name: email, caps }, raise)
}
