import type { PageQuery } from '../contract/values.ts'
import {
  findRun,
  findRunByRow,
  listCountersOfRuns,
  listRuns,
  listRunsInside,
  type StoredRun,
  sumRuns,
  sumTree,
} from '../db/runs.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { RunCapName } from '../model/allowance.ts'
import type { Caller } from '../model/caller.ts'
import { formatUsd } from '../model/money.ts'
import { isRunId, RUN_TAG } from '../model/run.ts'
import type { KeyScope } from './keys.ts'
import { done, ifDone, refuseOperation } from './outcome.ts'
import { isoTime, NEWEST, quoted, readPage } from './values.ts'

/** Of a tree of runs so many are listed; the outermost counts all of them. */
const RUNS_MAX = 500
const DAY_MS = 86_400_000

interface Services {
  readonly db: LedgerDb
  readonly clock: Clock
}

interface RunNode {
  readonly run: StoredRun
  readonly inside: RunNode[]
}

/**
 * A run, what is left of its budget, and the runs inside it. Every key of the account may read it, as every key may use it; it says
 * nothing of contents. Undefined: the account has no such run.
 */
export async function readRunTree(services: Services, { account }: Pick<Caller, 'account'>, id: string) {
  const stored = await findRun(services.db, account, id)
  return stored && readInTurn(services, stored)
}

/** A run as people of its account see it. A member sees those that their keys began, and the runs inside them. */
export async function showRun(services: Services, { account, person }: KeyScope, id: string) {
  const stored = isRunId(id) ? await findRun(services.db, account, id) : undefined
  if (stored === undefined || !(await isWithin(services.db, stored, person)))
    return refuseOperation('run_not_found', `The account has no run ${quoted(id)}.`)
  const { object: _, ...run } = await readInTurn(services, stored)
  return done(run)
}

async function isWithin(db: LedgerDb, stored: StoredRun, person: number | undefined): Promise<boolean> {
  if (person === undefined || stored.person === person) return true
  const parent = stored.parent === null ? undefined : await findRunByRow(db, stored.parent)
  return parent !== undefined && isWithin(db, parent, person)
}

/** The runs of an account, the newest first. */
export const listOwnRuns = ({ db, clock }: Services, scope: KeyScope, page: PageQuery) =>
  ifDone(
    readPage(page, {
      first: NEWEST,
      read: (before, limit) => listRuns(db, scope, { before, limit }),
      numberOf: ({ row }) => row,
      view: (run) => run,
    }),
    async ({ items, next }) => {
      const counters = await countersOf(db, scope.account, items)
      const now = clock.now()
      return done({
        items: items.map((run) => ({
          ...{ ...factsOf(run, now), parent: run.parent_id },
          remaining: remainingOf(run, counters),
        })),
        next,
      })
    },
  )

type RunDescription = Awaited<ReturnType<typeof describeRun>>

interface Reads {
  last: Promise<unknown>
  /** Those that have not begun, by run. */
  readonly waiting: Map<number, Promise<RunDescription>>
}

const readsOf = new WeakMap<LedgerDb, Map<number, Reads>>()

/**
 * A run may have a million receipts to add up. Each account has one such read at a time, and one that waits serves all that ask
 * for the same run. One that has begun serves no more: it may miss a request that has ended since.
 */
function readInTurn(services: Services, stored: StoredRun): Promise<RunDescription> {
  const { account, row } = stored
  const accounts = readsOf.get(services.db) ?? new Map<number, Reads>()
  readsOf.set(services.db, accounts)
  const reads = accounts.get(account) ?? { last: Promise.resolve(), waiting: new Map() }
  accounts.set(account, reads)
  const same = reads.waiting.get(row)
  if (same !== undefined) return same
  const begin = () => {
    reads.waiting.delete(row)
    return describeRun(services, stored)
  }
  const read = reads.last.then(begin, begin)
  reads.waiting.set(row, read)
  reads.last = read
  const end = () => reads.last === read && accounts.delete(account)
  read.then(end, end)
  return read
}

async function describeRun({ db, clock }: Services, stored: StoredRun) {
  const { account } = stored
  const parent = stored.parent === null ? undefined : await findRunByRow(db, stored.parent)
  const { root, tags, isWhole } = await treeOf(db, stored)
  // A forgotten run of the same id may have receipts. The clocks of a run and of its requests are not the same to the millisecond.
  const since = stored.opened_at - DAY_MS
  const totals = new Map((await sumRuns(db, { account, tags, since })).map((each) => [each.tag, each]))
  // Those that are not listed count too.
  const used = isWhole ? usedIn(root, totals) : await sumTree(db, { account, run: stored.row, since })
  return {
    object: 'run' as const,
    ...viewOf(root, totals, clock.now()),
    used: usedView(used),
    all_listed: isWhole,
    parent: parent?.id ?? null,
    // Less what running requests hold.
    remaining: remainingOf(stored, await countersOf(db, account, [stored]), used),
  }
}

type Counters = ReadonlyMap<string, bigint>

const countersOf = async (db: LedgerDb, account: number, runs: readonly StoredRun[]): Promise<Counters> =>
  new Map(
    runs.length === 0
      ? []
      : (
          await listCountersOfRuns(
            db,
            account,
            runs.map(({ row }) => row),
          )
        ).map(({ subject, spent_nano, held_nano }) => [subject, spent_nano + held_nano]),
  )

/** Of each bound; null without one. The counters of a run that ended long ago are gone: then it is less what the `ended` requests used. */
function remainingOf({ row, max_nano, max_requests, max_tokens }: StoredRun, counters: Counters, ended?: Used) {
  const left = (name: RunCapName, limit: bigint | number | null, used: bigint | number | undefined): bigint | null => {
    const taken = counters.get(`cap:run:${row}:${name}`) ?? used
    return limit === null || taken === undefined ? null : BigInt(limit) - BigInt(taken)
  }
  const cost = left('total', max_nano, ended?.charge_nano)
  return {
    cost: cost === null ? null : formatUsd(cost),
    requests: countOf(left('requests', max_requests, ended?.requests)),
    tokens: countOf(left('tokens', max_tokens, ended?.tokens)),
  }
}

const countOf = (count: bigint | null): number | null => (count === null ? null : Number(count))

async function treeOf(db: LedgerDb, run: StoredRun): Promise<{ root: RunNode; tags: string[]; isWhole: boolean }> {
  const root: RunNode = { run, inside: [] }
  const tags = [tagOf(run)]
  for (let level = [root]; level.length > 0 && tags.length < RUNS_MAX; ) {
    const parents = new Map(level.map((node) => [node.run.row, node]))
    const found = await listRunsInside(db, [...parents.keys()], RUNS_MAX - tags.length)
    level = found.map((each) => ({ run: each, inside: [] }))
    for (const node of level) {
      parents.get(node.run.parent ?? 0)?.inside.push(node)
      tags.push(tagOf(node.run))
    }
  }
  return { root, tags, isWhole: tags.length < RUNS_MAX }
}

const tagOf = ({ id }: StoredRun): string => `${RUN_TAG}:${id}`

interface Used {
  readonly requests: number
  readonly tokens: number
  readonly charge_nano: bigint
}

interface RunView extends ReturnType<typeof factsOf> {
  /** With that of the runs inside it; ended requests only. */
  readonly used: { readonly cost: string; readonly requests: number; readonly tokens: number }
  readonly runs: readonly RunView[]
}

function viewOf(node: RunNode, totals: ReadonlyMap<string, Used>, now: number): RunView {
  const { run, inside } = node
  return {
    ...factsOf(run, now),
    used: usedView(usedIn(node, totals)),
    runs: inside.map((each) => viewOf(each, totals, now)),
  }
}

const factsOf = (run: StoredRun, now: number) => ({
  ...{ id: run.id, state: run.ends_at <= now ? ('ended' as const) : ('open' as const) },
  ...{ opened_at: isoTime(run.opened_at), ends_at: isoTime(run.ends_at) },
  budget: {
    ...{ cost: run.max_nano === null ? null : formatUsd(run.max_nano) },
    ...{ requests: run.max_requests, tokens: run.max_tokens },
  },
})

const usedView = ({ charge_nano, requests, tokens }: Used) => ({ cost: formatUsd(charge_nano), requests, tokens })

function usedIn({ run, inside }: RunNode, totals: ReadonlyMap<string, Used>): Used {
  const own = totals.get(tagOf(run)) ?? { requests: 0, tokens: 0, charge_nano: 0n }
  return inside.reduce<Used>((sum, node) => {
    const more = usedIn(node, totals)
    return {
      requests: sum.requests + more.requests,
      tokens: sum.tokens + more.tokens,
      charge_nano: sum.charge_nano + more.charge_nano,
    }
  }, own)
}
