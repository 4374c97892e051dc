import {
  type CheckedConfig,
  entriesAt,
  type ManagedConfig,
  type ManagedSecrets,
  type ManagedState,
  managedState,
  nextMoment,
  parseVersion,
} from '../admin/managed-state.ts'
import { loadCatalog } from '../catalog/load-catalog.ts'
import type { Config } from '../config/config.ts'
import type { LoadedConfig, SettingsOutcome } from '../config/load-config.ts'
import { MANAGED_KINDS, type ManagedEntry, managedKey } from '../contract/managed.ts'
import { findManagedRevision, listManaged } from '../db/managed.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { RingSeals } from '../lib/crypto.ts'
import type { PriceList } from '../model/price.ts'
import type { Log } from '../telemetry/log.ts'
import type { AnnouncedPrices, PricesAsOf } from './rules.ts'

/** Loads the file, with entries that operators manage beside it. */
export type LoadSettings = (managed: readonly ManagedEntry[]) => SettingsOutcome

/** The configuration with what operators manage beside it. */
export type ManagedOutcome =
  | { readonly kind: 'loaded'; readonly settings: LoadedConfig; readonly asOf: PricesAsOf }
  | RefusedSettings

interface RefusedSettings {
  readonly kind: 'invalid'
  readonly message: string
}

export interface Managed extends ManagedConfig {
  /** The file as it is now, with the entries of the database. */
  load(): Promise<ManagedOutcome>
  /** An entry that makes the file invalid is left out, so that a server starts although its file or its version has changed. */
  loadAtStart(): Promise<{ readonly settings: LoadedConfig; readonly asOf: PricesAsOf }>
  /**
   * At the end of a start, which may take long: loads what was added meanwhile, and a price that takes effect soon or has taken effect
   * meanwhile. From then on the server waits for announced prices.
   */
  catchUp(): Promise<void>
  /** Replaces how entries are put in force. It returns why they are not, or null. */
  reloadBy(reload: () => Promise<string | null>): void
  close(): void
}

/** What the file and the entries make at a moment. */
type LoadedAt = Extract<SettingsOutcome, { kind: 'loaded' }> | RefusedSettings

interface ManagedOptions {
  readonly db: LedgerDb
  readonly clock: Pick<Clock, 'now'>
  readonly secrets: RingSeals
  readonly settings: LoadedConfig
  readonly loadSettings: LoadSettings
  readonly log: Pick<Log, 'error'>
  readonly callProviders: ManagedConfig['callProviders']
  /** Only a server waits for announced prices. */
  readonly waits: boolean
}

/** This long before an announced price takes effect, its rules are made: then its requests have it at once. */
const LEAD_MS = 30_000
const WAIT_MAX_MS = 3_600_000
const WAIT_MIN_MS = 20
const RETRY_MS = 1000

export function createManaged(options: ManagedOptions): Managed {
  const { db, clock, secrets, settings, log, waits, callProviders } = options
  const loadSettings = (entries: readonly ManagedEntry[]): LoadedAt => {
    const outcome = options.loadSettings(entries)
    return outcome.kind === 'loaded' && isEmptied(settings, outcome.settings) ? EMPTIED : outcome
  }
  let leftOut: ReadonlyMap<string, string> = new Map()
  let refused: string | null = null
  let reload: () => Promise<string | null> = async () => null
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let nextAtStart: number | undefined
  let revision = 0

  const apply = async (): Promise<string | null> => {
    refused = await reload()
    return refused
  }
  const wakeIn = (ms: number): void => {
    clearTimeout(timer)
    if (!waits || isClosed) return
    const wake = () =>
      apply().catch((error: unknown) => log.error({ error }, 'managed entries could not be loaded; retrying'))
    timer = setTimeout(wake, Math.min(Math.max(ms, WAIT_MIN_MS), WAIT_MAX_MS)).unref()
  }
  const readState = async (): Promise<ManagedState> => {
    const state = managedState((await listManaged(db)).map(parseVersion))
    revision = state.revision
    return state
  }
  const waitForNext = (next: number | undefined, now: number): void => {
    if (next === undefined) clearTimeout(timer)
    else wakeIn(next - now > LEAD_MS ? next - now - LEAD_MS : next - now)
  }
  const open: Managed['open'] = ({ name, ring_key, sealed }) => {
    const opened = ring_key !== null && sealed !== null ? secrets.open(name, { ring_key, sealed }) : undefined
    return opened === undefined ? undefined : (JSON.parse(opened.toString('utf8')) as ManagedSecrets)
  }
  const loadAt = (state: ManagedState, at: number): LoadedAt => loadSettings(entriesAt(state, at, open))

  return {
    ...{ open, apply, callProviders },
    get leftOut() {
      return leftOut
    },
    get refused() {
      return refused
    },
    seal: (name, texts) => secrets.seal(name, Buffer.from(JSON.stringify(texts))),
    check: (entries) => checkedOf(options.loadSettings(entries)),
    async load() {
      // Also if it fails: the database may be back then.
      wakeIn(RETRY_MS)
      const state = await readState()
      const now = clock.now()
      const outcome = loadAt(state, now)
      const next = nextMoment(state, now)
      waitForNext(next, now)
      refused = outcome.kind === 'invalid' ? outcome.message : null
      if (outcome.kind === 'loaded') leftOut = new Map()
      if (outcome.kind === 'invalid') return outcome
      const isSoon = next !== undefined && next - now <= LEAD_MS
      const announced = isSoon ? announcedOf(outcome.settings.config, loadAt(state, next), next) : undefined
      return { ...outcome, asOf: { at: now, announced } }
    },
    async loadAtStart() {
      const state = await readState()
      const now = clock.now()
      const asOf = { at: now }
      const entries = entriesAt(state, now, open)
      nextAtStart = nextMoment(state, now)
      if (entries.length === 0) return { settings, asOf }
      const all = loadSettings(entries)
      if (all.kind === 'loaded') return { settings: all.settings, asOf }
      const fit = fittingEntries(entries, loadSettings)
      leftOut = fit.leftOut
      refused = all.message
      log.error({ problems: all.message, left_out: [...leftOut.keys()] }, LEFT_OUT)
      return { settings: fit.settings ?? settings, asOf }
    },
    async catchUp() {
      const now = clock.now()
      const isDue = nextAtStart !== undefined && nextAtStart - now <= LEAD_MS
      if (isDue || refused !== null || (await findManagedRevision(db)) !== revision) await apply()
      else waitForNext(nextAtStart, now)
    },
    reloadBy(next) {
      reload = next
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

const LEFT_OUT = 'managed entries were left out, because the configuration would not be valid with them'

/**
 * A writer may empty or delete the file before it writes it. At the start an empty file means the defaults; later it would remove
 * every model until the file is complete.
 */
function isEmptied(started: LoadedConfig, loaded: LoadedConfig): boolean {
  return hasKeys(started) && !hasKeys(loaded)
}

const hasKeys = ({ origin, origins }: LoadedConfig): boolean =>
  origin.kind === 'file' && [...origins.values()].some((place) => place.origin === origin.path)

const EMPTIED: RefusedSettings = { kind: 'invalid', message: 'The file is empty or missing.' }

/** Upstreams first, then models, then plans: each needs those before it. */
function fittingEntries(
  entries: readonly ManagedEntry[],
  loadSettings: (entries: readonly ManagedEntry[]) => LoadedAt,
) {
  const leftOut = new Map<string, string>()
  const fitting: ManagedEntry[] = []
  let settings: LoadedConfig | undefined
  for (const kind of MANAGED_KINDS)
    for (const entry of entries.filter((each) => each.kind === kind)) {
      const outcome = loadSettings([...fitting, entry])
      if (outcome.kind === 'invalid') leftOut.set(managedKey(entry), outcome.message)
      else {
        fitting.push(entry)
        settings = outcome.settings
      }
    }
  return { leftOut, settings }
}

const pricesOf = ({ models }: Pick<Config, 'models'>): Map<string, PriceList> =>
  new Map(models.flatMap(({ id, price }) => (price === undefined ? [] : [[id, price] as const])))

/** The models whose price is another one at that moment. */
function announcedOf(config: Config, then: LoadedAt, at: number): AnnouncedPrices | undefined {
  if (then.kind === 'invalid') return undefined
  const now = pricesOf(config)
  const changed = [...pricesOf(then.settings.config)].filter(
    ([id, price]) => now.has(id) && textOf(now.get(id)!) !== textOf(price),
  )
  return { at, prices: new Map(changed) }
}

const textOf = (price: PriceList): string =>
  JSON.stringify(price, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))

const LINES_MAX = 40
const LINE_CHARACTERS_MAX = 400

/** Problems repeat what was sent, which may be a key of any length. */
const readable = (message: string): string =>
  message
    .split('\n')
    .slice(0, LINES_MAX)
    .map((line) => (line.length > LINE_CHARACTERS_MAX ? `${line.slice(0, LINE_CHARACTERS_MAX)}…` : line))
    .join('\n')

function checkedOf(outcome: SettingsOutcome): CheckedConfig {
  if (outcome.kind === 'invalid') return { kind: 'invalid', message: readable(outcome.message) }
  const { config, owners } = outcome.settings
  const { upstreams, models, plans } = config
  return {
    ...{ kind: 'valid', owners, upstreams, prices: pricesOf(config) },
    // Versions are numbered when it is in force.
    catalog: loadCatalog({ upstreams, models, plans }, () => 0),
  }
}
