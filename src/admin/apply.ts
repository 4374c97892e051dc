import { hash } from 'node:crypto'
import type { z } from 'zod'
import type { AccountEntry, applied, applyBody } from '../contract/accounts-file.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByEmail, listAccountsLike, type StoredAccount } from '../db/accounts.ts'
import { type CapAmounts, capsOfKeys } from '../db/caps.ts'
import { listKeyOwners, listLiveKeys, type StoredKey } from '../db/keys.ts'
import { findPersonByEmail, listOpenInvitesOf, listPeople } from '../db/people.ts'
import { findTransferByRef } from '../db/statement.ts'
import { createQueue } from '../lib/async.ts'
import { type Allowance, CAP_NAMES } from '../model/allowance.ts'
import type { RateLimits } from '../model/caller.ts'
import type { AccountRow } from '../model/ids.ts'
import { inUsd } from '../model/money.ts'
import { parseRunRule, writeRunRule } from '../model/run.ts'
import { parseStepDown, writeStepDown } from '../model/step-down.ts'
import { scrub } from '../telemetry/scrub.ts'
import { changeAccountStatus, createAccount } from './accounts.ts'
import { amountsOf, type CapsView, capsView } from './caps.ts'
import {
  compareNewKeyCaps,
  comparePersonCaps,
  compareRaises,
  compareTeams,
  differentCaps,
  exportCaps,
  raisesView,
} from './compare-caps.ts'
import { inviteAtServer } from './invitations.ts'
import { changeKey, createKey, listOf, raiseKeyCap, readTerms, revokeKey } from './keys.ts'
import { done, ifDone, type Outcome, refuseOperation } from './outcome.ts'
import { disablePerson, enablePerson } from './people.ts'
import { assignPlan, endPlan, planOfAccount } from './plans.ts'
import type { OperatorServices } from './services.ts'
import { isoTime, isoTimeOrNull, NEWEST, normalizeEmail, parseMoment, quoted, readAmount, readPage } from './values.ts'
import { creditWallet } from './wallet.ts'

type Applied = z.output<typeof applied>
type Path = Applied['problems'][number]['path']
type KeyEntry = NonNullable<AccountEntry['keys']>[number]
/** What is returned once and stored nowhere. */
type SecretsAndLinks = Pick<Applied, 'secrets' | 'links'>

interface Step {
  readonly change: Applied['changes'][number]
  /** Runs the use case, and adds to `made` what it returns once. */
  run(made: SecretsAndLinks): Promise<Outcome<unknown>>
}

/** One entry beside its account. */
interface Comparison {
  readonly services: OperatorServices
  readonly entry: AccountEntry
  /** Undefined: the first step creates it. */
  readonly account: StoredAccount | undefined
  readonly actor: string
  change(action: Step['change']['action'], what: string, run: Step['run']): void
  /** `path` is relative to the entry. */
  refuse(path: Path, message: string): void
  warn(path: Path, message: string): void
}

/**
 * Makes accounts what their entries say, in steps that the other use cases perform and record. Running it again changes
 * nothing; after an interruption it goes on with what is missing.
 */
export const applyAccounts = (
  services: OperatorServices,
  body: z.output<typeof applyBody>,
  actor: string,
): Promise<Outcome<Applied>> => inTurn(() => compareAndRun(services, body, actor))

/** One call at a time: two that compare at once would both make what is missing. */
const inTurn = createQueue(1)

async function compareAndRun(
  services: OperatorServices,
  { accounts, dry_run, expect }: z.output<typeof applyBody>,
  actor: string,
): Promise<Outcome<Applied>> {
  const steps: Step[] = []
  const problems: Applied['problems'] = []
  const warnings: Applied['warnings'] = []
  for (const [index, entry] of accounts.entries()) {
    const at = (path: Path): Path => ['accounts', index, ...path]
    await compareAccount({
      ...{ services, entry, actor, account: await findAccountByEmail(services.db, entry.email) },
      change: (action, what, run) => void steps.push({ change: { account: entry.email, action, what }, run }),
      refuse: (path, message) => void problems.push({ path: at(path), message }),
      warn: (path, message) => void warnings.push({ path: at(path), message }),
    })
  }
  const changes = steps.map(({ change }) => change)
  const digest = hash('sha256', JSON.stringify(changes), 'base64url')
  const made: SecretsAndLinks = { secrets: [], links: [] }
  const report = { plan: digest, changes, problems, warnings, done: 0, failure: null, ...made }
  if (dry_run === true || problems.length > 0) return done(report)
  if (expect !== undefined && expect !== digest) {
    return refuseOperation(
      'plan_changed',
      'The accounts have changed since this was planned. Nothing was done: plan again.',
    )
  }
  for (const [at, { change, run }] of steps.entries()) {
    const message = await run(made).then(
      (outcome) => (outcome.kind === 'refused' ? outcome.message : undefined),
      (error: unknown) => {
        // The caller needs the secrets that were made before. Without any change the error itself is the answer.
        if (at === 0 && made.secrets.length === 0) throw error
        return `${scrub((error as Error).message).replace(/\.$/, '')}. Apply again for what is missing.`
      },
    )
    if (message === undefined) continue
    return done({ ...report, done: at, failure: { account: change.account, what: change.what, message } })
  }
  return done({ ...report, done: steps.length })
}

async function compareAccount(comparison: Comparison): Promise<void> {
  const { services, entry, account, change, refuse } = comparison
  const { email, status } = entry
  if (account?.status === 'closed') return refuse(['email'], `${email} is closed, which is final`)
  if (account === undefined) change('create', 'account', () => createAccount(services, { email }))
  // First, so that a later step that fails does not leave open what should be suspended.
  const current = account?.status ?? 'active'
  if (status !== undefined && status !== current) {
    change('change', `status ${current} -> ${status}`, () => changeAccountStatus(services, email, status))
  }
  await compareCredit(comparison)
  await comparePlan(comparison)
  await compareTeams(comparison)
  await comparePeople(comparison)
  await compareNewKeyCaps(comparison)
  await compareKeys(comparison)
}

async function compareCredit({ services, entry, account, change, refuse }: Comparison): Promise<void> {
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
    change('create', `credit ${inUsd(read.amount)} (${credit.ref})`, () =>
      creditWallet(services, { account: entry.email, ...credit }),
    )
  }
}

async function comparePlan({ services, entry, account, change, refuse }: Comparison): Promise<void> {
  const { email, plan: wanted, plan_until: until } = entry
  if (wanted === undefined) {
    if (until !== undefined) refuse(['plan_until'], 'needs a plan')
    return
  }
  const current = account && (await planOfAccount(services, account.row as AccountRow))
  const running = current?.state === 'active' || current?.state === 'not_configured' ? current.newest : undefined
  if (wanted === null) {
    if (running !== undefined) change('remove', `plan ${running.plan}`, () => endPlan(services, { account: email }))
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
  change(running === undefined ? 'create' : 'change', `plan ${from}${describePlan(wanted, endsAt)}`, () =>
    assignPlan(services, { account: email, plan: wanted, ...(endsAt !== null && { until: isoTime(endsAt) }) }),
  )
}

const describePlan = (plan: string, endsAt: number | null): string =>
  endsAt === null ? plan : `${plan} until ${isoTime(endsAt)}`

async function comparePeople(comparison: Comparison): Promise<void> {
  const { services, entry, account, actor, change, refuse } = comparison
  for (const [index, wanted] of (entry.people ?? []).entries()) {
    const { email, disabled } = wanted
    const person = await findPersonByEmail(services.db, email)
    const role = wanted.role ?? person?.role ?? 'owner'
    if (person === undefined) {
      // They have not signed up yet. If their link is for this, it stays: a new one would void it.
      const open = await listOpenInvitesOf(services.db, email, services.clock.now())
      await comparePersonCaps(comparison, wanted, undefined, ['people', index])
      const isInvited = open.some((invite) => invite.role === role && invite.account === account?.row)
      if (disabled === true || isInvited) continue
      change('create', `invitation of ${email} as ${role}`, (made) =>
        ifDone(inviteAtServer(services, { role, email, account: entry.email }, actor), ({ link }) => {
          made.links.push({ account: entry.email, email, link })
          return done({})
        }),
      )
      continue
    }
    if (person.account !== (account?.row ?? -1))
      refuse(['people', index], `${email} belongs to another account, or to none`)
    if (person.role !== role)
      refuse(['people', index, 'role'], `${email} is ${person.role}, which apply does not change`)
    if (person.account === account?.row) await comparePersonCaps(comparison, wanted, person, ['people', index])
    if (disabled === undefined || disabled === (person.disabled_at !== null)) continue
    change('change', `${email} ${disabled ? 'disabled' : 'enabled'}`, () =>
      (disabled ? disablePerson : enablePerson)(services, { person: email }, actor),
    )
  }
}

async function compareKeys(comparison: Comparison): Promise<void> {
  const { services, entry, account, change } = comparison
  const live = account === undefined ? [] : await listLiveKeys(services.db, account.row)
  const caps = await capsOfKeys(services.db, live)
  const owners = account === undefined ? [] : await listKeyOwners(services.db, account.row)
  const named = new Set(entry.keys?.map(({ id }) => id))
  const kept = new Set<string>()
  for (const [index, wanted] of (entry.keys ?? []).entries()) {
    const byId = live.find(({ id }) => id === wanted.id)
    const [byName, ...others] = live.filter(({ id, name }) => name === wanted.name && !named.has(id))
    const found = byId ?? byName
    if (found !== undefined) kept.add(found.id)
    const isAmbiguous = byId === undefined && others.length > 0
    const isNewName = wanted.id === undefined && live.every(({ name }) => name !== wanted.name)
    const stored = found === undefined ? [] : caps[live.indexOf(found)]!.own
    const path = ['keys', index]
    const owner = owners.find(({ row }) => row === found?.row)
    if (owner !== undefined) refuseOtherOwners(comparison, wanted, owner, path)
    compareKey(comparison, { wanted, found, stored, path, isAmbiguous, isNewName })
  }
  if (entry.prune !== true) return
  for (const { id, name } of live) {
    if (kept.has(id)) continue
    change('remove', `key ${JSON.stringify(name)} (${id}): revoked`, () => revokeKey(services, { key: id }))
  }
}

type KeyOwners = Awaited<ReturnType<typeof listKeyOwners>>[number]

function refuseOtherOwners(
  { refuse }: Comparison,
  wanted: KeyEntry,
  { person, email, team, team_name }: KeyOwners,
  path: Path,
): void {
  const named = wanted.person === undefined ? undefined : normalizeEmail(wanted.person)
  if (named !== undefined && named !== email && wanted.person !== person)
    refuse([...path, 'person'], `the key belongs to ${email ?? 'the account'} for life. Use another name`)
  if (wanted.team !== undefined && wanted.team !== team && wanted.team !== team_name)
    refuse([...path, 'team'], `the key belongs to ${team ?? 'no team'} for life. Use another name`)
}

const isPast = (written: string | null | undefined, now: number): boolean =>
  written != null && (parseMoment(written) ?? Number.NaN) <= now

interface ComparedKey {
  readonly wanted: KeyEntry
  readonly found: StoredKey | undefined
  /** Its own caps. */
  readonly stored: readonly Allowance[]
  readonly path: Path
  readonly isAmbiguous: boolean
  /** No live key of the account has the name, and another node that applies the same file must not make a second one. */
  readonly isNewName: boolean
}

function compareKey(
  { services, entry, change, refuse, warn }: Comparison,
  { wanted, found, stored, path, isAmbiguous, isNewName }: ComparedKey,
): void {
  if (isAmbiguous) {
    refuse([...path, 'name'], 'the account has two keys of this name. Name the id of the one that is meant')
    return
  }
  if (found !== undefined && found.kind !== wanted.kind) {
    refuse([...path, 'kind'], `the key is a ${found.kind} key, which cannot be changed. Use another name`)
    return
  }
  const { id: _, name, kind, raises, ...terms } = wanted
  // The file was right when it was written.
  if (found === undefined && isPast(wanted.expires, services.clock.now())) {
    warn([...path, 'expires'], `${wanted.expires} has passed, so the key ${JSON.stringify(name)} is not made`)
    return
  }
  const { disabled, ...newTerms } = terms
  const changed = found === undefined ? newTerms : differencesOf({ name, ...terms }, found, amountsOf(stored))
  const read = readTerms(services, kind, changed)
  if (read.kind === 'refused') {
    refuse([...path, ...(read.param?.split('.') ?? [])], read.message)
    return
  }
  if (found === undefined) {
    change('create', `${kind} key ${JSON.stringify(name)}${disabled === true ? ', disabled' : ''}`, async (made) => {
      const order = { account: entry.email, name, kind, ...newTerms }
      const created = await createKey(services, order, { needsNewName: isNewName })
      if (created.kind === 'refused') return created
      const { id, key: secret } = created.value
      made.secrets.push({ account: entry.email, key: name, id, secret })
      for (const raise of raises ?? []) {
        if (isPast(raise.until, services.clock.now())) continue
        const raised = await raiseKeyCap(services, { key: id, ...raise })
        if (raised.kind === 'refused') return raised
      }
      return disabled === true ? changeKey(services, { key: id, disabled }) : created
    })
    return
  }
  const what = Object.keys(changed)
  if (what.length > 0)
    change(
      'change',
      `key ${JSON.stringify(found.name)}: ${what.map((term) => describe(term, changed)).join(', ')}`,
      () => changeKey(services, { key: found.id, ...changed }),
    )
  compareRaises(
    { services, change },
    {
      ...{ raises, stored, changed: changed.caps, name: `key ${JSON.stringify(found.name)}` },
      raise: (raise) => raiseKeyCap(services, { key: found.id, ...raise }),
    },
  )
}

type Terms = Partial<Omit<KeyEntry, 'id' | 'kind' | 'raises'>>

const describe = (term: string, changed: Terms): string => `${term} ${JSON.stringify(changed[term as keyof Terms])}`

/** The terms that the key does not have already. */
function differencesOf(
  { name, models, limits, caps, addresses, run, step_down, expires, disabled }: Terms,
  key: StoredKey,
  stored: CapAmounts,
): Terms {
  const rates = ratesOf(key)
  const otherLimits = Object.entries(limits ?? {}).filter(
    ([name, value]) => rates[name as keyof typeof rates] !== value,
  )
  const otherCaps = differentCaps(caps, stored)
  const isSameModels = models === undefined || JSON.stringify(models) === (key.models ?? 'null')
  const isSameAddresses = addresses === undefined || JSON.stringify(addresses) === (key.addresses ?? 'null')
  const isSameExpiry = expires === undefined || (expires === null ? null : parseMoment(expires)) === key.expires_at
  return {
    ...(name !== key.name && { name }),
    ...(!isSameModels && { models }),
    ...(!isSameAddresses && { addresses }),
    ...(run !== undefined && writeRunRule(run) !== key.run && { run }),
    ...(step_down !== undefined && writeStepDown(step_down) !== key.step_down && { step_down }),
    ...(otherLimits.length > 0 && { limits: Object.fromEntries(otherLimits) }),
    ...(otherCaps !== undefined && { caps: otherCaps }),
    ...(!isSameExpiry && { expires }),
    ...(disabled !== undefined && disabled !== (key.disabled_at !== null) && { disabled }),
  }
}

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
  const { teams, capsOfPeople, newKeyCaps } = await exportCaps(services, row, people)
  const keys = await listLiveKeys(services.db, row)
  const caps = await capsOfKeys(services.db, keys)
  const owners = new Map((await listKeyOwners(services.db, row)).map((owner) => [owner.row, owner]))
  return {
    ...{ email, status },
    ...(state === 'active' && { plan: newest!.plan, plan_until: isoTimeOrNull(newest!.ends_at) }),
    people: people.map((person, index) => ({
      ...{ email: person.email, role: person.role, disabled: person.disabled_at !== null },
      ...withNulls(capsOfPeople[index]!),
    })),
    teams: teams.map(withNulls),
    new_key_caps: allCaps(newKeyCaps),
    keys: keys.map((key, index) => ({
      ...{ id: key.id, name: key.name, kind: key.kind },
      ...ownersView(owners.get(key.row)),
      ...{ models: listOf(key.models), addresses: listOf(key.addresses), run: parseRunRule(key.run) },
      step_down: parseStepDown(key.step_down),
      ...{
        limits: ratesOf(key),
        caps: allCaps(capsView(amountsOf(caps[index]!.own))),
        expires: isoTimeOrNull(key.expires_at),
      },
      ...raisesView(caps[index]!.own, services.clock.now()),
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

const ownersView = (owners: KeyOwners | undefined): { readonly person?: string; readonly team?: string } => ({
  ...(owners?.email != null && { person: owners.email }),
  // By its name, so that another server finds it too; archived ones may share a name.
  ...(owners?.team != null && {
    team: owners.team_archived_at === null ? (owners.team_name ?? owners.team) : owners.team,
  }),
})

/** With null for caps that are not set, so that applying the file removes what was added since. */
const allCaps = (caps: CapsView) => ({ ...Object.fromEntries(CAP_NAMES.map((name) => [name, null])), ...caps })

const withNulls = <Holder extends { readonly caps: CapsView }>(holder: Holder) => ({
  ...holder,
  caps: allCaps(holder.caps),
})
