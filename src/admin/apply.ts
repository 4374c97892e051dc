import { hash } from 'node:crypto'
import type { z } from 'zod'
import type { AccountEntry, applied, applyBody } from '../contract/accounts-file.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByEmail, listAccountsLike, type StoredAccount } from '../db/accounts.ts'
import { listLiveKeys, type StoredKey } from '../db/keys.ts'
import { findOpenInviteOf, findPersonByEmail, listPeople } from '../db/people.ts'
import { findTransferByRef } from '../db/statement.ts'
import { createQueue } from '../lib/async.ts'
import type { RateLimits } from '../model/caller.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd, inUsd, parseUsd } from '../model/money.ts'
import { scrub } from '../telemetry/scrub.ts'
import { changeAccountStatus, createAccount } from './accounts.ts'
import { inviteAtServer } from './invitations.ts'
import { changeKey, createKey, readTerms, revokeKey } from './keys.ts'
import { done, ifDone, type Outcome, refuseOperation } from './outcome.ts'
import { disablePerson, enablePerson } from './people.ts'
import { assignPlan, endPlan, planOfAccount } from './plans.ts'
import type { OperatorServices } from './services.ts'
import { isoTime, isoTimeOrNull, NEWEST, parseMoment, quoted, readAmount, readPage } from './values.ts'
import { creditWallet } from './wallet.ts'

type Applied = z.output<typeof applied>
type Path = Applied['problems'][number]['path']
type KeyEntry = NonNullable<AccountEntry['keys']>[number]
type Fruits = Pick<Applied, 'secrets' | 'links'>

interface Step {
  readonly change: Applied['changes'][number]
  /** Runs the use case. Secrets and links go to `fruits`. */
  run(fruits: Fruits): Promise<Outcome<unknown>>
}

/** What is planned for one account. */
interface Planning {
  readonly services: OperatorServices
  readonly entry: AccountEntry
  /** Undefined: the first step creates it. */
  readonly account: StoredAccount | undefined
  readonly actor: string
  plan(action: Step['change']['action'], what: string, run: Step['run']): void
  /** `path` is relative to the entry. */
  refuse(path: Path, message: string): void
}

/**
 * Makes accounts what their entries say, in steps that the other use cases perform and record. Running it again changes
 * nothing; after an interruption it goes on with what is missing.
 */
export const applyAccounts = (
  services: OperatorServices,
  body: z.output<typeof applyBody>,
  actor: string,
): Promise<Outcome<Applied>> => inTurn(() => planAndRun(services, body, actor))

/** One call at a time: two that plan at once would both make what is missing. */
const inTurn = createQueue(1)

async function planAndRun(
  services: OperatorServices,
  { accounts, dry_run, expect }: z.output<typeof applyBody>,
  actor: string,
): Promise<Outcome<Applied>> {
  const steps: Step[] = []
  const problems: Applied['problems'] = []
  for (const [index, entry] of accounts.entries()) {
    await planAccount({
      ...{ services, entry, actor, account: await findAccountByEmail(services.db, entry.email) },
      plan: (action, what, run) => void steps.push({ change: { account: entry.email, action, what }, run }),
      refuse: (path, message) => void problems.push({ path: ['accounts', index, ...path], message }),
    })
  }
  const changes = steps.map(({ change }) => change)
  const plan = hash('sha256', JSON.stringify(changes), 'base64url')
  const fruits: Fruits = { secrets: [], links: [] }
  const report = { plan, changes, problems, done: 0, failure: null, ...fruits }
  if (dry_run === true || problems.length > 0) return done(report)
  if (expect !== undefined && expect !== plan) {
    return refuseOperation(
      'plan_changed',
      'The accounts have changed since this was planned. Nothing was done: plan again.',
    )
  }
  for (const [at, { change, run }] of steps.entries()) {
    const message = await run(fruits).then(
      (outcome) => (outcome.kind === 'refused' ? outcome.message : undefined),
      (error: unknown) => {
        // The caller needs the secrets that were made before. Without any change the error itself is the answer.
        if (at === 0 && fruits.secrets.length === 0) throw error
        return `${scrub((error as Error).message).replace(/\.$/, '')}. Apply again for what is missing.`
      },
    )
    if (message === undefined) continue
    return done({ ...report, done: at, failure: { account: change.account, what: change.what, message } })
  }
  return done({ ...report, done: steps.length })
}

async function planAccount(planning: Planning): Promise<void> {
  const { services, entry, account, plan, refuse } = planning
  const { email, status } = entry
  if (account?.status === 'closed') return refuse(['email'], `${email} is closed, which is final`)
  if (account === undefined) plan('create', 'account', () => createAccount(services, { email }))
  // First, so that a later step that fails does not leave open what should be suspended.
  const current = account?.status ?? 'active'
  if (status !== undefined && status !== current) {
    plan('change', `status ${current} -> ${status}`, () => changeAccountStatus(services, email, status))
  }
  await planCredit(planning)
  await planPlan(planning)
  await planPeople(planning)
  await planKeys(planning)
}

async function planCredit({ services, entry, account, plan, refuse }: Planning): Promise<void> {
  for (const [index, credit] of (entry.credit ?? []).entries()) {
    const read = readAmount(credit.amount)
    if (read.kind === 'refused') {
      refuse(['credit', index, 'amount'], read.message)
      continue
    }
    const known = account && (await findTransferByRef(services.db, account.row, 'credit', credit.ref))
    if (known !== undefined && known.amount_nano !== read.amount) {
      const message = `this ref was already used for ${inUsd(known.amount_nano)}. Use another for another credit`
      refuse(['credit', index, 'ref'], message)
    }
    if (known !== undefined) continue
    plan('create', `credit ${inUsd(read.amount)} (${credit.ref})`, () =>
      creditWallet(services, { account: entry.email, ...credit }),
    )
  }
}

async function planPlan({ services, entry, account, plan, refuse }: Planning): Promise<void> {
  const { email, plan: wanted, plan_until: until } = entry
  if (wanted === undefined) {
    if (until !== undefined) refuse(['plan_until'], 'needs a plan')
    return
  }
  const current = account && (await planOfAccount(services, account.row as AccountRow))
  const running = current?.state === 'active' || current?.state === 'not_configured' ? current.newest : undefined
  if (wanted === null) {
    if (running !== undefined) plan('remove', `plan ${running.plan}`, () => endPlan(services, { account: email }))
    return
  }
  const known = services.catalog().plans
  if (!known.has(wanted)) {
    return refuse(
      ['plan'],
      `the configuration has no plan ${quoted(wanted)}. Plans: ${[...known.keys()].join(', ') || 'none'}`,
    )
  }
  const kept = running?.ends_at ?? null
  const endsAt = until === undefined ? kept : until === null ? null : (parseMoment(until) ?? Number.NaN)
  if (running?.plan === wanted && kept === endsAt) return
  if (endsAt !== null && !(endsAt > services.clock.now())) {
    // The file was right when it was written, and what it asked for is over.
    if (running === undefined && !Number.isNaN(endsAt)) return
    return refuse(['plan_until'], 'is not a date in the future')
  }
  const from = running === undefined ? '' : `${describePlan(running.plan, kept)} -> `
  plan(running === undefined ? 'create' : 'change', `plan ${from}${describePlan(wanted, endsAt)}`, () =>
    assignPlan(services, { account: email, plan: wanted, ...(endsAt !== null && { until: isoTime(endsAt) }) }),
  )
}

const describePlan = (plan: string, endsAt: number | null): string =>
  endsAt === null ? plan : `${plan} until ${isoTime(endsAt)}`

async function planPeople({ services, entry, account, actor, plan, refuse }: Planning): Promise<void> {
  for (const [index, { email, role, disabled }] of (entry.people ?? []).entries()) {
    const person = await findPersonByEmail(services.db, email)
    if (person === undefined) {
      // They have not signed up yet. If their link is for this, it stays: a new one would void it.
      const open = await findOpenInviteOf(services.db, email, services.clock.now())
      const isInvited = open !== undefined && open.role === role && open.account === account?.row
      if (disabled === true || isInvited) continue
      plan('create', `invitation of ${email} as ${role}`, (fruits) =>
        ifDone(inviteAtServer(services, { role, email, account: entry.email }, actor), ({ link }) => {
          fruits.links.push({ account: entry.email, email, link })
          return done({})
        }),
      )
      continue
    }
    if (person.account !== (account?.row ?? -1))
      refuse(['people', index], `${email} belongs to another account, or to none`)
    if (person.role !== role)
      refuse(['people', index, 'role'], `${email} is ${person.role}, which apply does not change`)
    if (disabled === undefined || disabled === (person.disabled_at !== null)) continue
    plan('change', `${email} ${disabled ? 'disabled' : 'enabled'}`, () =>
      (disabled ? disablePerson : enablePerson)(services.people, { person: email }, actor),
    )
  }
}

async function planKeys(planning: Planning): Promise<void> {
  const { services, entry, account, plan } = planning
  const live = account === undefined ? [] : await listLiveKeys(services.db, account.row)
  const named = new Set(entry.keys?.map(({ id }) => id))
  const kept = new Set<string>()
  for (const [index, wanted] of (entry.keys ?? []).entries()) {
    const byId = live.find(({ id }) => id === wanted.id)
    const [byName, ...others] = live.filter(({ id, name }) => name === wanted.name && !named.has(id))
    const found = byId ?? byName
    if (found !== undefined) kept.add(found.id)
    const isAmbiguous = byId === undefined && others.length > 0
    const isNewName = wanted.id === undefined && live.every(({ name }) => name !== wanted.name)
    planKey(planning, { wanted, found, path: ['keys', index], isAmbiguous, isNewName })
  }
  if (entry.prune !== true) return
  for (const { id, name } of live) {
    if (kept.has(id)) continue
    plan('remove', `key ${JSON.stringify(name)} (${id}): revoked`, () => revokeKey(services, { key: id }))
  }
}

interface PlannedKey {
  readonly wanted: KeyEntry
  readonly found: StoredKey | undefined
  readonly path: Path
  readonly isAmbiguous: boolean
  /** No live key of the account has the name, and another node that applies the same file must not make a second one. */
  readonly isNewName: boolean
}

function planKey(
  { services, entry, plan, refuse }: Planning,
  { wanted, found, path, isAmbiguous, isNewName }: PlannedKey,
): void {
  if (isAmbiguous) {
    refuse([...path, 'name'], 'the account has two keys of this name. Name the id of the one that is meant')
    return
  }
  if (found !== undefined && found.kind !== wanted.kind) {
    refuse([...path, 'kind'], `the key is a ${found.kind} key, which cannot be changed. Use another name`)
    return
  }
  const { id: _, name, kind, ...terms } = wanted
  const { disabled, ...newTerms } = terms
  const changed = found === undefined ? newTerms : differencesOf({ name, ...terms }, found)
  const read = readTerms(services, kind, changed)
  if (read.kind === 'refused') {
    refuse([...path, ...(read.param?.split('.') ?? [])], read.message)
    return
  }
  if (found === undefined) {
    plan('create', `${kind} key ${JSON.stringify(name)}${disabled === true ? ', disabled' : ''}`, async (fruits) => {
      const order = { account: entry.email, name, kind, ...newTerms }
      const created = await createKey(services, order, { needsNewName: isNewName })
      if (created.kind === 'refused') return created
      const { id, key: secret } = created.value
      fruits.secrets.push({ account: entry.email, key: name, id, secret })
      return disabled === true ? changeKey(services, { key: id, disabled }) : created
    })
    return
  }
  const what = Object.keys(changed)
  if (what.length === 0) return
  plan('change', `key ${JSON.stringify(found.name)}: ${what.map((term) => describe(term, changed)).join(', ')}`, () =>
    changeKey(services, { key: found.id, ...changed }),
  )
}

type Terms = Partial<Omit<KeyEntry, 'id' | 'kind'>>

const describe = (term: string, changed: Terms): string => `${term} ${JSON.stringify(changed[term as keyof Terms])}`

/** The terms that the key does not have already. */
function differencesOf({ name, models, limits, caps, expires, disabled }: Terms, key: StoredKey): Terms {
  const rates = ratesOf(key)
  const otherLimits = Object.entries(limits ?? {}).filter(
    ([name, value]) => rates[name as keyof typeof rates] !== value,
  )
  const spent = { day: key.cap_day_nano, month: key.cap_month_nano }
  const otherCaps = Object.entries(caps ?? {}).filter(
    ([name, value]) => !isSameCap(spent[name as 'day' | 'month'], value),
  )
  const isSameModels = models === undefined || JSON.stringify(models) === (key.models ?? 'null')
  const isSameExpiry = expires === undefined || (expires === null ? null : parseMoment(expires)) === key.expires_at
  return {
    ...(name !== key.name && { name }),
    ...(!isSameModels && { models }),
    ...(otherLimits.length > 0 && { limits: Object.fromEntries(otherLimits) }),
    ...(otherCaps.length > 0 && { caps: Object.fromEntries(otherCaps) }),
    ...(!isSameExpiry && { expires }),
    ...(disabled !== undefined && disabled !== (key.disabled_at !== null) && { disabled }),
  }
}

const isSameCap = (stored: bigint | null, written: string | null | undefined): boolean =>
  (written == null ? null : (parseUsd(written) ?? -1n)) === stored

/**
 * Accounts as entries of such a file, newest first, without closed ones and without what happens once: credit, passwords and
 * secrets. Applying them changes nothing.
 */
export const exportAccounts = (services: OperatorServices, page: PageQuery) =>
  ifDone(
    readPage(page, {
      first: NEWEST,
      read: (before, limit) => listAccountsLike(services.db, { before, limit, search: undefined }),
      numberOf: ({ row }) => row,
      view: (account) => (account.status === 'closed' ? undefined : entryOf(services, account, account.status)),
    }),
    ({ items, next }) => done({ items: items.filter((entry) => entry !== undefined), next }),
  )

/** People exported with an account. More would be another product. */
const PEOPLE_MAX = 200

async function entryOf(
  services: OperatorServices,
  { row, email }: Pick<StoredAccount, 'row' | 'email'>,
  status: 'active' | 'suspended',
) {
  const { state, newest } = await planOfAccount(services, row as AccountRow)
  const people = await listPeople(services.db, { account: row, after: 0, limit: PEOPLE_MAX })
  const keys = await listLiveKeys(services.db, row)
  return {
    ...{ email, status },
    ...(state === 'active' && { plan: newest!.plan, plan_until: isoTimeOrNull(newest!.ends_at) }),
    people: people.map((person) => ({
      ...{ email: person.email, role: person.role, disabled: person.disabled_at !== null },
    })),
    keys: keys.map((key) => ({
      ...{ id: key.id, name: key.name, kind: key.kind },
      ...{ models: key.models === null ? null : (JSON.parse(key.models) as string[]) },
      ...{ limits: ratesOf(key), caps: capsOf(key), expires: isoTimeOrNull(key.expires_at) },
      disabled: key.disabled_at !== null,
    })),
  }
}

export type ExportedAccount = Awaited<ReturnType<typeof entryOf>>

function ratesOf({ limits }: Pick<StoredKey, 'limits'>) {
  const rates = limits === null ? {} : (JSON.parse(limits) as RateLimits)
  return {
    requests_per_minute: rates.requestsPerMinute ?? null,
    tokens_per_minute: rates.tokensPerMinute ?? null,
    concurrent: rates.concurrent ?? null,
  }
}

const capsOf = ({ cap_day_nano: day, cap_month_nano: month }: StoredKey) => ({
  day: day === null ? null : formatUsd(day),
  month: month === null ? null : formatUsd(month),
})
