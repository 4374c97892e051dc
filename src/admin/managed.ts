import type { z } from 'zod'
import {
  type historyQuery,
  MANAGED_KINDS,
  MANAGED_LISTS,
  type ManagedChange,
  type ManagedKind,
  type ManagedList,
  type ManagedShape,
  type managedAnswer,
  managedKey,
} from '../contract/managed.ts'
import { countRunningPlans } from '../db/allowances.ts'
import { listManaged, listManagedVersions, managedInserts, type StoredManaged } from '../db/managed.ts'
import { isAlreadyThere } from '../db/sql-store.ts'
import {
  announcedPrices,
  entriesAt,
  listOfKind,
  liveVersions,
  type ManagedConfig,
  type ManagedSecrets,
  type ManagedState,
  type ManagedVersion,
  managedState,
  parseVersion,
} from './managed-state.ts'
import { termsView } from './models.ts'
import { done, type OperationRefused, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { isoTime, parseExpiry, quoted, unreadableMoment } from './values.ts'

export type ManagedServices = Pick<AdminServices, 'db' | 'clock' | 'auditLog' | 'managed'>

const readManaged = async ({ db }: Pick<AdminServices, 'db'>): Promise<ManagedState> =>
  managedState((await listManaged(db)).map(parseVersion))

/** What operators manage, and the names that the file has. */
export async function listManagedEntries(services: Omit<ManagedServices, 'auditLog'>) {
  const state = await readManaged(services)
  return done(answerOf(services, state))
}

type ManagedAnswer = z.output<typeof managedAnswer>

function answerOf({ managed, clock }: Pick<ManagedServices, 'managed' | 'clock'>, state: ManagedState): ManagedAnswer {
  const now = clock.now()
  const alone = managed.check([])
  const owners = alone.kind === 'valid' ? alone.owners : new Map<string, string>()
  const ofFileAlone = alone.kind === 'valid' ? alone.catalog.models : []
  const filePrice = (kind: string, name: string) => {
    const price = kind === 'model' ? ofFileAlone.find(({ id }) => id === name)?.price : undefined
    return price === undefined ? null : termsView(price)
  }
  const inForce = new Map(entriesAt(state, now, () => undefined).map((each) => [managedKey(each), each.entry]))
  const live = liveVersions(state)
  const items = live.map((version): ManagedAnswer['items'][number] => ({
    ...{ kind: version.kind, name: version.name, file: owners.get(managedKey(version)) ?? null },
    entry: inForce.get(managedKey(version)) ?? null,
    price: filePrice(version.kind, version.name),
    secrets: secretNames(managed.open(version)),
    ...{ created_at: isoTime(version.created_at), created_by: version.created_by },
    prices: version.kind === 'model' ? announcedPrices(state, version, now).map(priceView) : [],
    problem: problemOf(managed, version),
  }))
  const known = new Set(live.map(managedKey))
  const ofFile = [...owners].flatMap(([key, file]): ManagedAnswer['items'] => {
    const [kind, name] = [key.slice(0, key.indexOf(' ')) as ManagedKind, key.slice(key.indexOf(' ') + 1)]
    const nothing = { entry: null, secrets: [], created_at: null, created_by: null, prices: [], problem: null }
    return known.has(key) ? [] : [{ kind, name, file, ...nothing, price: filePrice(kind, name) }]
  })
  return { revision: state.revision, items: [...items, ...ofFile], not_applied: managed.refused }
}

const priceView = ({ effective_from, entry, created_at, created_by }: ManagedVersion) => ({
  ...{ from: isoTime(effective_from), price: entry ?? {}, created_at: isoTime(created_at), created_by },
})

const secretNames = (secrets: ManagedSecrets | undefined): string[] => [
  ...(secrets?.api_key === undefined ? [] : ['api_key']),
  ...Object.keys(secrets?.headers ?? {}).map((name) => `headers.${name}`),
]

function problemOf(managed: ManagedConfig, version: ManagedVersion): string | null {
  const left = managed.leftOut.get(managedKey({ kind: version.kind as ManagedKind, name: version.name }))
  if (left !== undefined) return left
  return version.sealed !== null && managed.open(version) === undefined
    ? 'Its secrets cannot be opened: their key is not on the key ring. Save them again.'
    : null
}

/** Earlier versions of an entry, newest first. */
export async function managedVersions(
  { db }: Pick<AdminServices, 'db'>,
  { kind, name }: z.output<typeof historyQuery>,
) {
  const versions = (await listManagedVersions(db, kind, name)).map(parseVersion)
  if (versions.length === 0) return notManaged(kind, name)
  return done({
    items: versions.map(({ row, kind: what, entry, effective_from, created_at, created_by }) => ({
      ...{ revision: row, what, entry, from: isoTime(effective_from) },
      ...{ created_at: isoTime(created_at), created_by },
    })),
  })
}

const notManaged = (kind: ManagedKind, name: string): OperationRefused =>
  refuseOperation('managed_not_found', `There is no managed ${kind} ${quoted(name)}. See: millrace managed list`)

/**
 * Changes managed entries as a whole. The file together with all of them is checked as a reload checks it, and a name that the file
 * has is refused. The rows and their audit entry are one transaction; then this node and the others load them.
 */
export async function changeManaged(services: ManagedServices, change: ManagedChange, actor: string) {
  const { db, clock, auditLog, managed } = services
  const stored = await listManaged(db)
  const before = managedState(stored.map(parseVersion))
  if (change.revision !== undefined && change.revision !== before.revision) return changedMeanwhile()
  const alone = managed.check([])
  if (alone.kind === 'invalid') return invalidConfig(alone.message)
  const draft: Draft = { before, owners: alone.owners, managed, now: clock.now(), actor, rows: [] }
  const refused = draftChange(draft, change) ?? (await usedPlan(services, draft))
  if (refused !== undefined) return refused
  const { rows } = draft
  if (rows.length === 0) return done(answerOf(services, before))
  const after = managedState([...stored, ...rows].map(parseVersion))
  if (liveVersions(after).length > ENTRIES_MAX)
    return refuseOperation(
      'managed_too_many',
      `There may be ${ENTRIES_MAX} managed entries. Retire some, or use the file.`,
    )
  const moments = new Set([draft.now, ...rows.map(({ effective_from }) => effective_from)])
  for (const at of moments) {
    const checked = managed.check(entriesAt(after, at, managed.open))
    if (checked.kind === 'invalid') return invalidConfig(checked.message)
  }
  const detail = describeChanges(before, rows.map(parseVersion))
  const target = rows.length === 1 ? `${rows[0]!.kind} ${rows[0]!.name}` : `${rows.length} entries`
  try {
    await auditLog.act({ action: 'managed_changed', target, detail }, managedInserts(rows))
  } catch (error) {
    if (isAlreadyThere(error) && error.message.includes('managed_entries')) return changedMeanwhile()
    throw error
  }
  await managed.apply()
  return done(answerOf(services, after))
}

/** Live entries of all kinds: each is checked with every change. */
const ENTRIES_MAX = 1000
/** Of one model. */
const ANNOUNCED_MAX = 50
const ANNOUNCED_MS_MAX = 2 * 366 * 86_400_000
/** As in the contract. */
const ID_CHARACTERS_MAX = 200
const ENTRY_CHARACTERS_MAX = 64 * 1024
const ENTRY_DEPTH_MAX = 12

const changedMeanwhile = (): OperationRefused =>
  refuseOperation(
    'managed_outdated',
    'Another change was made meanwhile. Look at the entries again, then repeat yours.',
  )

const invalidConfig = (message: string): OperationRefused =>
  refuseOperation('managed_invalid', `The configuration would not be valid:\n${message}`)

const ownedByFile = (key: string, place: string): OperationRefused =>
  refuseOperation('owned_by_file', `The configuration file has the ${key}: ${place}. Change it there.`)

interface Draft {
  readonly before: ManagedState
  readonly owners: ReadonlyMap<string, string>
  readonly managed: ManagedConfig
  readonly now: number
  readonly actor: string
  readonly rows: StoredManaged[]
}

function draftChange(draft: Draft, change: ManagedChange): OperationRefused | undefined {
  const seen = new Set<string>()
  for (const [list, kind] of Object.entries(MANAGED_LISTS) as [ManagedList, ManagedKind][])
    for (const [index, entry] of (change[list] ?? []).entries()) {
      const refused = draftEntry(draft, { kind, entry, at: `${list}.${index}`, seen })
      if (refused !== undefined) return refused
    }
  for (const { kind, name } of change.retire ?? []) {
    const refused = draftRetirement(draft, kind, name, seen)
    if (refused !== undefined) return refused
  }
  for (const [index, price] of (change.prices ?? []).entries()) {
    const refused = draftPrice(draft, price, `prices.${index}`)
    if (refused !== undefined) return refused
  }
  return undefined
}

interface DraftedEntry {
  readonly kind: ManagedKind
  readonly entry: ManagedShape
  readonly at: string
  readonly seen: Set<string>
}

function draftEntry(draft: Draft, { kind, entry, at, seen }: DraftedEntry): OperationRefused | undefined {
  const unfit = unfitEntry(entry)
  if (unfit !== undefined) return refuseOperation('invalid_arguments', `${at}: ${unfit}`, { param: at })
  const { id: name } = entry
  if (typeof name !== 'string' || name === '' || name.length > ID_CHARACTERS_MAX)
    return refuseOperation('invalid_arguments', `${at}: it needs an id of 1 to ${ID_CHARACTERS_MAX} characters.`, {
      param: `${at}.id`,
    })
  const key = managedKey({ kind, name })
  const owner = draft.owners.get(key)
  if (owner !== undefined) return ownedByFile(key, owner)
  if (seen.has(key)) return refuseOperation('invalid_arguments', `${at}: the change names it twice.`, { param: at })
  seen.add(key)
  const former = draft.before.newest.get(key)
  if (kind !== 'upstream') {
    const current = former?.entry == null ? undefined : entryInForce(draft, former)
    const saved = kind === 'model' ? withKeptPrice(entry, current) : entry
    if (current === undefined || !sameJson(current, saved)) push(draft, { kind, name, entry: saved })
    return undefined
  }
  const split = withKeptSecrets(draft.managed, former, entry)
  if (split.kind === 'refused') return split
  const { secrets, shown } = split
  const isSame = former?.entry != null && sameJson(former.entry, shown)
  if (isSame && sameJson(draft.managed.open(former) ?? {}, secrets)) return undefined
  const sealed = Object.keys(secrets).length === 0 ? undefined : draft.managed.seal(name, secrets)
  push(draft, { kind, name, entry: shown, ...sealed })
  return undefined
}

/**
 * A price that is left out stays, and null removes it. A form that was opened before a date would otherwise bring back the price that
 * the date has ended.
 */
function withKeptPrice({ price, ...entry }: ManagedShape, current: ManagedShape | undefined): ManagedShape {
  const kept = price === undefined ? current?.price : price
  return kept == null ? entry : { ...entry, price: kept }
}

/** With the price that a date has brought. */
const entryInForce = ({ before, now }: Draft, { kind, name }: ManagedVersion): ManagedShape | undefined =>
  entriesAt(before, now, () => undefined).find((each) => each.kind === kind && each.name === name)?.entry

/** Parsed JSON, so that the order of keys does not count. */
const sameJson = (one: unknown, other: unknown): boolean => sortedJson(one) === sortedJson(other)

const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )

type SplitUpstream =
  | { readonly kind: 'split'; readonly secrets: ManagedSecrets; readonly shown: ManagedShape }
  | OperationRefused

/**
 * The secrets of an upstream, and the rest. Secrets that are left out stay, unless they would be sent to another address; null removes
 * one.
 */
export function withKeptSecrets(
  managed: Pick<ManagedConfig, 'open'>,
  former: ManagedVersion | undefined,
  { api_key, headers, ...shown }: ManagedShape,
): SplitUpstream {
  const kept = former?.entry == null ? undefined : managed.open(former)
  const isElsewhere = former?.entry?.base_url !== shown.base_url
  const keepsSome =
    (api_key === undefined && kept?.api_key !== undefined) || (headers === undefined && kept?.headers !== undefined)
  if (keepsSome && isElsewhere) {
    const message = 'Its address changes, so its secrets are not kept: send api_key and headers again, or null.'
    return refuseOperation('managed_key_needed', message, { param: 'api_key' })
  }
  const key = api_key === undefined ? kept?.api_key : api_key
  const sent = headers === undefined ? kept?.headers : headers
  // The schema of the file refuses what is no text.
  const secrets = {
    ...(key == null || key === '' ? {} : { api_key: key as string }),
    ...(sent == null || Object.keys(sent).length === 0 ? {} : { headers: sent as Record<string, string> }),
  }
  return { kind: 'split', secrets, shown }
}

function unfitEntry(entry: ManagedShape): string | undefined {
  let pending: { value: unknown; depth: number }[] = [{ value: entry, depth: 0 }]
  while (pending.length > 0) {
    const next: typeof pending = []
    for (const { value, depth } of pending) {
      if (typeof value !== 'object' || value === null) continue
      if (depth > ENTRY_DEPTH_MAX) return `it is nested deeper than ${ENTRY_DEPTH_MAX} levels.`
      if (Object.hasOwn(value, '__proto__')) return '__proto__ cannot be the name of a key.'
      for (const child of Object.values(value)) next.push({ value: child, depth: depth + 1 })
    }
    pending = next
  }
  return JSON.stringify(entry).length > ENTRY_CHARACTERS_MAX
    ? `it is longer than ${ENTRY_CHARACTERS_MAX} characters.`
    : undefined
}

function push(
  { rows, before, now, actor }: Draft,
  row: Pick<StoredManaged, 'kind' | 'name'> &
    Partial<Pick<StoredManaged, 'ring_key' | 'sealed' | 'effective_from'>> & { readonly entry: ManagedShape | null },
): void {
  const { kind, name } = row
  rows.push({
    ...{ ring_key: null, sealed: null, effective_from: notBefore(before, row, now), ...row },
    ...{ row: before.revision + rows.length + 1, kind, name, created_at: now, created_by: actor },
    entry: row.entry === null ? null : JSON.stringify(row.entry),
  })
}

/** A price that is set now replaces the one in force, also where another node set that one by a clock that is ahead. */
function notBefore({ newest, prices }: ManagedState, { kind, name }: { kind: string; name: string }, now: number) {
  if (kind !== 'model' && kind !== 'price') return now
  const immediate = (prices.get(name) ?? []).filter(({ effective_from, created_at }) => effective_from <= created_at)
  return Math.max(
    now,
    newest.get(`model ${name}`)?.effective_from ?? 0,
    ...immediate.map((each) => each.effective_from),
  )
}

function draftRetirement(draft: Draft, kind: ManagedKind, name: string, seen: Set<string>) {
  const key = managedKey({ kind, name })
  const version = draft.before.newest.get(key)
  const owner = draft.owners.get(key)
  if (version?.entry == null) return owner === undefined ? notManaged(kind, name) : ownedByFile(key, owner)
  if (seen.has(key))
    return refuseOperation('invalid_arguments', 'The change names an entry twice.', { param: 'retire' })
  seen.add(key)
  push(draft, { kind, name, entry: null })
  if (kind !== 'model') return undefined
  // A model of that name that comes later begins without them.
  for (const { effective_from } of announcedPrices(draft.before, version, draft.now))
    push(draft, { kind: 'price', name, entry: null, effective_from })
  return undefined
}

/** Accounts on a plan that ends could no longer use its keys, also those that have paid for it. */
async function usedPlan(
  { db, clock }: Pick<ManagedServices, 'db' | 'clock'>,
  { rows, owners }: Draft,
): Promise<OperationRefused | undefined> {
  const retired = rows.filter(
    ({ kind, entry, name }) => kind === 'plan' && entry === null && !owners.has(managedKey({ kind, name })),
  )
  if (retired.length === 0) return undefined
  const used = (await countRunningPlans(db, clock.now())).find(({ plan }) => retired.some(({ name }) => name === plan))
  if (used === undefined) return undefined
  const accounts = used.accounts === 1 ? '1 account is' : `${used.accounts} accounts are`
  return refuseOperation(
    'plan_in_use',
    `${accounts} on the plan ${quoted(used.plan)}. Give them another plan or end theirs, then retire it.`,
  )
}

type ChangedPrice = NonNullable<ManagedChange['prices']>[number]

function draftPrice(draft: Draft, { model, price, from }: ChangedPrice, at: string): OperationRefused | undefined {
  const key = managedKey({ kind: 'model', name: model })
  const owner = draft.owners.get(key)
  if (owner !== undefined) return ownedByFile(key, owner)
  const version = draft.before.newest.get(key)
  const isRetired = draft.rows.some((row) => row.kind === 'model' && row.name === model && row.entry === null)
  if (version?.entry == null || isRetired) return notManaged('model', model)
  const unfit = price === null ? undefined : unfitEntry(price)
  if (unfit !== undefined) return refuseOperation('invalid_arguments', `${at}: ${unfit}`, { param: at })
  const moment = from === undefined ? undefined : parseExpiry(from, draft.now)
  if (from !== undefined && (moment === undefined || moment > draft.now + ANNOUNCED_MS_MAX))
    return unreadableMoment(from, 'from')
  const announced = announcedPrices(draft.before, version, draft.now)
  if (price === null && !announced.some(({ effective_from }) => effective_from === moment)) {
    const dates = announced.map(({ effective_from }) => isoTime(effective_from)).join(', ') || 'none'
    return refuseOperation('managed_not_found', `${quoted(model)} has no price for that date. Its dates: ${dates}.`)
  }
  const dates = new Set([...announced, ...draft.rows.filter(isPriceOf(model))].map((each) => each.effective_from))
  if (dates.size >= ANNOUNCED_MAX && price !== null && moment !== undefined && !dates.has(moment))
    return refuseOperation('managed_too_many', `A model may have ${ANNOUNCED_MAX} announced prices.`)
  push(draft, { kind: 'price', name: model, entry: price, ...(moment !== undefined && { effective_from: moment }) })
  return undefined
}

const isPriceOf =
  (model: string) =>
  ({ kind, name, entry }: StoredManaged): boolean =>
    kind === 'price' && name === model && entry !== null

/** The entries as a part of the configuration file: see `managed-yaml.ts`. */
export async function exportedEntries({ managed, clock, ...services }: Omit<ManagedServices, 'auditLog'>) {
  const state = await readManaged(services)
  const now = clock.now()
  const entries = entriesAt(state, now, () => undefined)
  return liveVersions(state).map((version) => ({
    list: listOfKind(version.kind),
    entry: entries.find((each) => managedKey(each) === managedKey(version))!.entry,
    secrets: secretNames(managed.open(version)),
    announced: version.kind === 'model' ? announcedPrices(state, version, now).map(priceView) : [],
  }))
}

/** For the audit log: what each row changes, before and after, without secrets. The rows themselves keep the whole of it. */
const describeChanges = (before: ManagedState, rows: readonly ManagedVersion[]): string =>
  rows.map((row) => `${row.kind} ${row.name} ${describeChange(before, row)}`).join('; ')

function describeChange({ newest, prices }: ManagedState, row: ManagedVersion): string {
  const { kind, name, entry, effective_from, created_at } = row
  const date = effective_from > created_at ? ` from ${isoTime(effective_from)}` : ''
  if (entry === null) return kind === 'price' ? `called off${date}` : 'retired'
  const own = MANAGED_KINDS.find((each) => each === kind)
  const former = own === undefined ? prices.get(name)?.at(-1) : newest.get(managedKey({ kind: own, name }))
  const listed = own === undefined ? newest.get(managedKey({ kind: 'model', name }))?.entry?.price : undefined
  const old = leavesOf(former?.entry ?? listed ?? {})
  const next = leavesOf(entry)
  const changed = [...new Set([...old.keys(), ...next.keys()])].filter((path) => old.get(path) !== next.get(path))
  const parts = changed.map((path) => `${path} ${old.get(path) ?? 'none'} → ${next.get(path) ?? 'none'}`)
  const secrets = row.sealed === null && former?.sealed == null ? [] : ['secrets saved']
  const isNew = own !== undefined && former?.entry == null
  return `${isNew ? 'created: ' : ''}${[...parts, ...secrets].join(', ') || 'saved'}${date}`
}

/** Every value by its path. */
function leavesOf(value: unknown, path = '', leaves = new Map<string, string>()): Map<string, string> {
  if (typeof value !== 'object' || value === null) return leaves.set(path, JSON.stringify(value) ?? 'none')
  for (const [key, child] of Object.entries(value)) leavesOf(child, path === '' ? key : `${path}.${key}`, leaves)
  return leaves
}
