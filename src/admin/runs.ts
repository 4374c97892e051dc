import {
  findRun,
  findRunByRow,
  listCountersOfRun,
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
import { RUN_TAG } from '../model/run.ts'
import { isoTime } from './values.ts'

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
export async function readRunTree({ db, clock }: Services, { account }: Caller, id: string) {
  const stored = await findRun(db, account, id)
  if (stored === undefined) return undefined
  const parent = stored.parent === null ? undefined : await findRunByRow(db, stored.parent)
  const { root, tags, isWhole } = await treeOf(db, stored)
  // A forgotten run of the same id may have receipts. The clocks of a run and of its requests are not the same to the millisecond.
  const since = stored.opened_at - DAY_MS
  const totals = new Map((await sumRuns(db, { account, tags, since })).map((each) => [each.tag, each]))
  const counters = new Map((await listCountersOfRun(db, account, stored.row)).map((each) => [each.subject, each]))
  // Those that are not listed count too.
  const used = isWhole ? usedIn(root, totals) : await sumTree(db, { account, run: stored.row, since })
  /** The counters of a run that ended long ago are gone. */
  const left = (name: RunCapName, limit: bigint | number | null, ended: bigint | number): bigint | null => {
    if (limit === null) return null
    const counter = counters.get(`cap:run:${stored.row}:${name}`)
    return BigInt(limit) - (counter === undefined ? BigInt(ended) : counter.spent_nano + counter.held_nano)
  }
  const { max_nano, max_requests, max_tokens } = stored
  const leftCost = left('total', max_nano, used.charge_nano)
  return {
    object: 'run' as const,
    ...viewOf(root, totals, clock.now()),
    used: usedView(used),
    all_listed: isWhole,
    parent: parent?.id ?? null,
    // Less what running requests hold.
    remaining: {
      cost: leftCost === null ? null : formatUsd(leftCost),
      requests: countOf(left('requests', max_requests, used.requests)),
      tokens: countOf(left('tokens', max_tokens, used.tokens)),
    },
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

interface RunView {
  readonly id: string
  readonly state: 'open' | 'ended'
  readonly opened_at: string
  readonly ends_at: string
  readonly budget: { readonly cost: string | null; readonly requests: number | null; readonly tokens: number | null }
  /** With that of the runs inside it; ended requests only. */
  readonly used: { readonly cost: string; readonly requests: number; readonly tokens: number }
  readonly runs: readonly RunView[]
}

function viewOf(node: RunNode, totals: ReadonlyMap<string, Used>, now: number): RunView {
  const { run, inside } = node
  const used = usedIn(node, totals)
  return {
    ...{ id: run.id, state: run.ends_at <= now ? 'ended' : 'open' },
    ...{ opened_at: isoTime(run.opened_at), ends_at: isoTime(run.ends_at) },
    budget: {
      ...{ cost: run.max_nano === null ? null : formatUsd(run.max_nano) },
      ...{ requests: run.max_requests, tokens: run.max_tokens },
    },
    used: usedView(used),
    runs: inside.map((each) => viewOf(each, totals, now)),
  }
}

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
