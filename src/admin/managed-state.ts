import type { Catalog, Upstream } from '../catalog/catalog.ts'
import { MANAGED_LISTS, type ManagedEntry, type ManagedShape, managedKey } from '../contract/managed.ts'
import type { StoredManaged } from '../db/managed.ts'
import type { PriceList } from '../model/price.ts'
import type { ProbeServices } from './probe.ts'

/** The file together with managed entries, as the server would load it. */
export type CheckedConfig =
  | {
      readonly kind: 'valid'
      /** Where the file has each name, by `managedKey`. */
      readonly owners: ReadonlyMap<string, string>
      readonly catalog: Catalog
      readonly upstreams: readonly Upstream[]
      /** By model. */
      readonly prices: ReadonlyMap<string, PriceList>
    }
  /** Each problem with its place and its fix, one per line. */
  | { readonly kind: 'invalid'; readonly message: string }

/** What `app` provides to manage entries: the file, the key ring and the reload. */
export interface ManagedConfig {
  check(entries: readonly ManagedEntry[]): CheckedConfig
  seal(name: string, secrets: ManagedSecrets): Pick<StoredManaged, 'ring_key' | 'sealed'>
  /** Undefined: it has none, or the key ring cannot open them. */
  open(version: Pick<StoredManaged, 'name' | 'ring_key' | 'sealed'>): ManagedSecrets | undefined
  /** Loads the entries of the database here. Returns why they are not in force, or null. Other nodes get a signal. */
  apply(): Promise<string | null>
  /** Calls providers, also ones that are not saved, through the guard of addresses. */
  callProviders<Value>(upstreams: readonly Upstream[], use: (services: ProbeServices) => Promise<Value>): Promise<Value>
  /** Why the last load was refused, or null. */
  readonly refused: string | null
  /** Why entries were left out at the start, by `managedKey`. */
  readonly leftOut: ReadonlyMap<string, string>
}

/** The secrets of an upstream, as the file would have them. */
export interface ManagedSecrets {
  readonly api_key?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A row with its entry parsed. */
export interface ManagedVersion extends Omit<StoredManaged, 'entry'> {
  readonly entry: ManagedShape | null
}

/** What the database has of managed entries. */
export interface ManagedState {
  readonly revision: number
  /** The newest version of each name, retired ones included, by `managedKey`. */
  readonly newest: ReadonlyMap<string, ManagedVersion>
  /** All versions of prices, by model, oldest first. */
  readonly prices: ReadonlyMap<string, readonly ManagedVersion[]>
}

export const parseVersion = ({ entry, ...row }: StoredManaged): ManagedVersion => ({
  ...row,
  entry: entry === null ? null : (JSON.parse(entry) as ManagedShape),
})

/** Rows in the order in which they were added: a later one of the same name replaces an earlier one. */
export function managedState(versions: readonly ManagedVersion[]): ManagedState {
  const newest = new Map<string, ManagedVersion>()
  const prices = new Map<string, ManagedVersion[]>()
  for (const version of versions) {
    const { kind, name } = version
    if (kind === 'price') prices.set(name, [...(prices.get(name) ?? []), version])
    else newest.set(managedKey({ kind, name }), version)
  }
  return { revision: versions.at(-1)?.row ?? 0, newest, prices }
}

/** The names that are not retired. */
export const liveVersions = (state: ManagedState) =>
  [...state.newest.values()].flatMap((version) => {
    const { kind, entry } = version
    return kind === 'price' || entry === null ? [] : [{ ...version, kind, entry }]
  })

/**
 * The prices of a managed model by the moment at which they take effect, earliest first: that of its entry, and those set for a date.
 * Of one moment the last one counts; a price that was called off is none.
 */
function pricesOf(state: ManagedState, model: ManagedVersion): readonly ManagedVersion[] {
  const byMoment = new Map<number, ManagedVersion>()
  const own = { ...model, entry: (model.entry?.price as ManagedShape | undefined) ?? null }
  const others = (state.prices.get(model.name) ?? []).filter(
    ({ effective_from, row, created_at }) => effective_from > created_at || row > model.row,
  )
  for (const each of [...others, own].sort((a, b) => a.row - b.row)) byMoment.set(each.effective_from, each)
  return [...byMoment.values()]
    .filter((version) => version.entry !== null || version.kind === 'model')
    .sort((a, b) => a.effective_from - b.effective_from)
}

/** A model with the price that is in force at a moment. Without a managed price it has none. */
function modelAt(state: ManagedState, version: ManagedVersion & { readonly entry: ManagedShape }, at: number) {
  const price = pricesOf(state, version).findLast(({ effective_from }) => effective_from <= at)?.entry
  const { price: _, ...rest } = version.entry
  return price == null ? rest : { ...rest, price }
}

/** The entries in force at a moment. `open` returns the secrets of an upstream. */
export const entriesAt = (
  state: ManagedState,
  at: number,
  open: (version: ManagedVersion) => ManagedSecrets | undefined,
): ManagedEntry[] =>
  liveVersions(state).map(({ kind, name, entry, ...version }) => {
    if (kind === 'model') return { kind, name, entry: modelAt(state, { ...version, kind, name, entry }, at) }
    return {
      kind,
      name,
      entry: version.sealed === null ? entry : { ...entry, ...open({ ...version, kind, name, entry }) },
    }
  })

/** Prices of a model that take effect later. */
export const announcedPrices = (state: ManagedState, model: ManagedVersion, now: number): readonly ManagedVersion[] =>
  pricesOf(state, model).filter(({ effective_from, kind }) => kind === 'price' && effective_from > now)

/** When the next announced price takes effect. */
export function nextMoment(state: ManagedState, now: number): number | undefined {
  const moments = liveVersions(state).flatMap((version) =>
    version.kind === 'model' ? announcedPrices(state, version, now).map(({ effective_from }) => effective_from) : [],
  )
  return moments.length === 0 ? undefined : Math.min(...moments)
}

/** The list of the file for a kind. */
export const listOfKind = (kind: ManagedEntry['kind']) =>
  (Object.keys(MANAGED_LISTS) as (keyof typeof MANAGED_LISTS)[]).find((list) => MANAGED_LISTS[list] === kind)!
