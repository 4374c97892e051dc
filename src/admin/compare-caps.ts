import type { AccountEntry } from '../contract/accounts-file.ts'
import type { StoredAccount } from '../db/accounts.ts'
import { type CapAmounts, type CountedTeam, capsOfOwners, listCapsOf, listTeams, NEW_KEYS } from '../db/caps.ts'
import type { StoredPerson } from '../db/people.ts'
import { type Allowance, type CapName, measureOf } from '../model/allowance.ts'
import { formatUsd, parseUsd } from '../model/money.ts'
import { amountsOf, capsView, changeMemberCaps, changeNewKeyCaps, raiseMemberCap, readCaps } from './caps.ts'
import type { Outcome } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { changeTeam, createTeam, raiseTeamCap } from './teams.ts'
import { isoTime, parseMoment } from './values.ts'

type TeamEntry = NonNullable<AccountEntry['teams']>[number]
export type RaiseEntry = NonNullable<TeamEntry['raises']>[number]
type Caps = NonNullable<TeamEntry['caps']>
type Path = (string | number)[]

/** One entry of an accounts file beside its account, as far as caps and teams are concerned. */
interface CapComparison {
  readonly services: AdminServices
  readonly entry: Pick<AccountEntry, 'email' | 'teams' | 'new_key_caps'>
  readonly account: StoredAccount | undefined
  change(action: 'create' | 'change', what: string, run: () => Promise<Outcome<unknown>>): void
  refuse(path: Path, message: string): void
  warn(path: Path, message: string): void
}

/** The caps that are not as they are written. */
export function differentCaps(written: Caps | undefined, stored: CapAmounts): Caps | undefined {
  const other = Object.entries(written ?? {}).filter(([name, value]) => !isSameCap(stored, name as CapName, value))
  return other.length === 0 ? undefined : Object.fromEntries(other)
}

function isSameCap(stored: CapAmounts, name: CapName, written: string | number | null | undefined): boolean {
  return amountOf(written) === (stored[name] ?? null)
}

const amountOf = (written: string | number | null | undefined): bigint | null =>
  typeof written === 'number' ? BigInt(written) : written == null ? null : (parseUsd(written) ?? -1n)

interface WrittenRaises {
  readonly raises: readonly RaiseEntry[] | undefined
  readonly stored: readonly Allowance[]
  /** A change of a cap ends its raise. */
  readonly changed: Caps | undefined
  readonly name: string
  readonly raise: (entry: { cap: CapName; to: string; until: string }) => Promise<Outcome<unknown>>
}

/** Raises that are not there yet, and are not over. */
export function compareRaises(
  { services, change }: Pick<CapComparison, 'services' | 'change'>,
  { raises = [], stored, changed, name, raise }: WrittenRaises,
): void {
  for (const { cap, to, until } of raises) {
    const end = parseMoment(until) ?? Number.NaN
    if (end <= services.clock.now()) continue
    const known = stored.find((each) => each.name === cap)
    const amount = cap.endsWith('_day') ? BigInt(/^\d+$/.test(to) ? to : -1) : amountOf(to)
    const isThere = known?.raised?.amount === amount && known?.raised?.until === end && changed?.[cap] === undefined
    if (!isThere) change('change', `${name}: ${cap} raised to ${to} until ${until}`, () => raise({ cap, to, until }))
  }
}

/** As they are written, of those that are not over. */
export const raisesView = (caps: readonly Allowance[], now: number): { raises?: RaiseEntry[] } => {
  const raises = caps.flatMap((cap) => {
    const { name, raised } = cap
    if (raised === undefined || raised.until <= now) return []
    const to = measureOf(cap) === 'usd' ? formatUsd(raised.amount) : raised.amount.toString()
    return [{ cap: name as CapName, to, until: isoTime(raised.until) }]
  })
  return raises.length === 0 ? {} : { raises }
}

export async function compareNewKeyCaps({ services, entry, account, change, refuse }: CapComparison): Promise<void> {
  const { email, new_key_caps: written } = entry
  if (written === undefined) return
  const stored = account && (await listCapsOf(services.db, [account.row], [NEW_KEYS])).get(NEW_KEYS)
  const caps = differentCaps(written, stored ?? {})
  if (caps === undefined) return
  const read = readCaps(caps)
  if (read.kind === 'refused') return refuse(['new_key_caps'], read.message)
  change('change', `caps of new keys: ${JSON.stringify(caps)}`, () =>
    changeNewKeyCaps(services, { account: email, ...caps }),
  )
}

const TEAMS_MAX = 1000

/** A team with this id, else the one with this name, else a new one. */
export async function compareTeams(comparison: CapComparison): Promise<void> {
  const { services, entry, account, change, refuse } = comparison
  const { email, teams: written = [] } = entry
  if (written.length === 0) return
  const stored = account === undefined ? [] : await listTeams(services.db, account.row, { after: 0, limit: TEAMS_MAX })
  const owners = stored.map(({ row }) => ({ holder: 'team', row }) as const)
  const caps = account === undefined ? [] : await capsOfOwners(services.db, account.row, owners)
  for (const [index, wanted] of written.entries()) {
    const at = findTeamOf(stored, wanted)
    const read = readCaps(wanted.caps ?? {})
    if (read.kind === 'refused') refuse(['teams', index, 'caps'], read.message)
    else if (at >= 0) compareTeam(comparison, { wanted, team: stored[at]!, caps: caps[at] ?? [] })
    else if (wanted.archived !== true)
      change('create', `team ${JSON.stringify(wanted.name)}`, () => makeTeam(services, email, wanted))
  }
}

function findTeamOf(stored: readonly CountedTeam[], { id, name }: TeamEntry): number {
  const byId = stored.findIndex((team) => team.id === id)
  return byId >= 0 ? byId : stored.findIndex((team) => team.name === name && team.archived_at === null)
}

async function makeTeam(services: AdminServices, email: string, { name, caps = {}, raises = [] }: TeamEntry) {
  const made = await createTeam(services, { account: email, name, caps })
  if (made.kind === 'refused') return made
  for (const raise of raises) {
    if ((parseMoment(raise.until) ?? 0) <= services.clock.now()) continue
    const raised = await raiseTeamCap(services, { team: made.value.id, ...raise })
    if (raised.kind === 'refused') return raised
  }
  return made
}

interface ComparedTeam {
  readonly wanted: TeamEntry
  readonly team: CountedTeam
  readonly caps: readonly Allowance[]
}

function compareTeam(comparison: CapComparison, { wanted, team, caps: stored }: ComparedTeam): void {
  const { services, change } = comparison
  const caps = differentCaps(wanted.caps, amountsOf(stored))
  const { name, archived } = wanted
  const changed = {
    ...(name !== team.name && { name }),
    ...(caps !== undefined && { caps }),
    ...(archived !== undefined && archived !== (team.archived_at !== null) && { archived }),
  }
  const called = `team ${JSON.stringify(team.name)}`
  const what = Object.entries(changed).map(([term, value]) => `${term} ${JSON.stringify(value)}`)
  if (what.length > 0)
    change('change', `${called}: ${what.join(', ')}`, () => changeTeam(services, { team: team.id, ...changed }))
  compareRaises(comparison, {
    ...{ raises: wanted.raises, stored, changed: caps, name: called },
    raise: (raise) => raiseTeamCap(services, { team: team.id, ...raise }),
  })
}

type PersonEntry = NonNullable<AccountEntry['people']>[number]

/** The caps of a person who has signed up. Caps of others are left for the next time. */
export async function comparePersonCaps(
  comparison: CapComparison,
  { email, caps: written, raises }: PersonEntry,
  person: (StoredPerson & { readonly account: number | null }) | undefined,
  path: Path,
): Promise<void> {
  const { services, change, refuse, warn } = comparison
  const isNothing = Object.values(written ?? {}).every((cap) => cap === null) && (raises ?? []).length === 0
  if (isNothing && person === undefined) return
  if (person?.account == null) return warn(path, `${email} has not signed up yet: apply again for their caps`)
  const read = readCaps(written ?? {})
  if (read.kind === 'refused') return refuse([...path, 'caps'], read.message)
  const [stored = []] = await capsOfOwners(services.db, person.account, [{ holder: 'person', row: person.row }])
  const caps = differentCaps(written, amountsOf(stored))
  if (caps !== undefined)
    change('change', `caps of ${email}: ${JSON.stringify(caps)}`, () =>
      changeMemberCaps(services, { person: person.id, ...caps }),
    )
  compareRaises(comparison, {
    ...{ raises, stored, changed: caps, name: email },
    raise: (raise) => raiseMemberCap(services, { person: person.id, ...raise }),
  })
}

/** Teams, people and new keys with their caps, as entries of an accounts file. */
export async function exportCaps({ db, clock }: AdminServices, account: number, people: readonly StoredPerson[]) {
  const teams = await listTeams(db, account, { after: 0, limit: TEAMS_MAX })
  const teamCaps = await capsOfOwners(
    db,
    account,
    teams.map(({ row }) => ({ holder: 'team', row }) as const),
  )
  const personCaps = await capsOfOwners(
    db,
    account,
    people.map(({ row }) => ({ holder: 'person', row }) as const),
  )
  const newKeys = (await listCapsOf(db, [account], [NEW_KEYS])).get(NEW_KEYS)
  const now = clock.now()
  return {
    teams: teams.map(({ id, name, archived_at }, index) => ({
      ...{ id, name, archived: archived_at !== null, caps: capsView(amountsOf(teamCaps[index]!)) },
      ...raisesView(teamCaps[index]!, now),
    })),
    capsOfPeople: personCaps.map((caps) => ({ caps: capsView(amountsOf(caps)), ...raisesView(caps, now) })),
    newKeyCaps: capsView(newKeys ?? {}),
  }
}
