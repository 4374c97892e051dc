import type { z } from 'zod'
import type { refusedTurnsAnswer, refusedTurnsQuery } from '../contract/owner.ts'
import {
  addRefusedTurns,
  forgetRefusedTurns,
  type RefusedFilter,
  type RefusedTurns,
  readRefusedBefore,
} from '../db/content/refused-turns.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import { QUARTER_MS } from '../db/usage-slices.ts'
import type { Clock } from '../lib/clock.ts'
import type { Caller } from '../model/caller.ts'
import type { ProblemCode } from '../model/problem.ts'
import { done, type Outcome } from './outcome.ts'
import { readUsageScope } from './usage-report.ts'
import { isoTime } from './values.ts'

/**
 * Counts turns that were refused before they began, which leave no receipt. To count one is an addition in memory; what has
 * come together is written every few seconds, beside the ledger. Whatever a crash takes with it was no money.
 */
export interface RefusedTurnCounter {
  note(caller: Pick<Caller, 'accountId' | 'keyId' | 'kind'>, code: ProblemCode): void
  /** Writes what has come together: whoever reads afterwards finds all of it. */
  flush(): Promise<void>
  /** Since when they are told: a quarter of an hour, since 1970. */
  firstTold(): number
  /** Forgets what is not told any more. */
  sweep(): Promise<void>
  close(): Promise<void>
}

interface CounterDeps {
  readonly content: SqliteFile
  readonly clock: Pick<Clock, 'now'>
  readonly intervalMs: number
  /** What could not be written waits for the next time. */
  readonly onFailure: (error: unknown) => void
}

/** Keys times reasons: only a disk that does not take them for long brings so many together, and then the newest are lost. */
const NAMES_MAX = 20_000
/** A year, and enough more to hold a month against the same one a year ago. */
const TOLD_MS = 400 * 86_400_000
/** Nobody who reads waits behind more than that. */
const WRITTEN_AT_ONCE = 500

type Pending = Map<string, { turns: Omit<RefusedTurns, 'count'>; count: number }>

export function createRefusedTurnCounter(deps: CounterDeps): RefusedTurnCounter {
  const pending: Pending = new Map()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  let closed = false

  const add = (turns: Omit<RefusedTurns, 'count'>, count: number): void => {
    const name = `${turns.key} ${turns.code} ${turns.quarter}`
    const known = pending.get(name)
    if (known) known.count += count
    else if (pending.size < NAMES_MAX) pending.set(name, { turns, count })
  }
  const write = async (): Promise<void> => {
    while (pending.size > 0) {
      const some = [...pending].slice(0, WRITTEN_AT_ONCE)
      for (const [name] of some) pending.delete(name)
      try {
        await addRefusedTurns(
          deps.content,
          some.map(([, { turns, count }]) => ({ ...turns, count })),
        )
      } catch (error) {
        for (const [, { turns, count }] of some) add(turns, count)
        deps.onFailure(error)
        return arm()
      }
    }
  }
  const flush = (): Promise<void> => {
    writing = writing.then(write)
    return writing
  }
  const arm = (): void => {
    if (timer !== undefined || closed) return
    timer = setTimeout(() => {
      timer = undefined
      void flush()
    }, deps.intervalMs).unref()
  }

  const quarterOf = (at: number): number => Math.floor(at / QUARTER_MS)
  const firstTold = (): number => quarterOf(deps.clock.now() - TOLD_MS)

  return {
    note({ accountId, keyId, kind }, code) {
      const quarter = quarterOf(deps.clock.now())
      add({ account: accountId, key: keyId, kind, code, quarter }, 1)
      arm()
    },
    flush,
    firstTold,
    sweep: () => forgetRefusedTurns(deps.content, firstTold()),
    async close() {
      closed = true
      clearTimeout(timer)
      await flush()
    },
  }
}

export interface RefusedTurnsDeps {
  readonly db: LedgerDb
  readonly content: SqliteFile
  readonly refusedTurns: Pick<RefusedTurnCounter, 'flush' | 'firstTold'>
}

type Args = z.output<typeof refusedTurnsQuery> & { readonly account: string }

/** What was refused before it began, reason by reason and step by step; in the same steps as the usage of that range. */
export async function refusedTurnsReport(
  deps: RefusedTurnsDeps,
  args: Args,
): Promise<Outcome<z.output<typeof refusedTurnsAnswer>>> {
  const scope = await readUsageScope(deps, { ...args, by: 'kind' })
  if (scope.kind === 'refused') return scope
  const { beginnings, range } = scope.value
  const reasons = await refusedBetween(deps, args, [...beginnings, range.to])
  return done({ steps: beginnings.map(isoTime), reasons })
}

interface Reason {
  readonly code: ProblemCode
  readonly total: number
  /** Between each of the instants and the next one. */
  readonly steps: number[]
}

/** The commonest reason first; none that was not told in all that time, or too long ago to be told still. */
export async function refusedBetween(
  deps: Omit<RefusedTurnsDeps, 'db'>,
  filter: RefusedFilter,
  instants: readonly number[],
): Promise<Reason[]> {
  await deps.refusedTurns.flush()
  const firstTold = deps.refusedTurns.firstTold()
  const quarters = instants.map((at) => Math.max(Math.floor(at / QUARTER_MS), firstTold))
  const rows = await readRefusedBefore(deps.content, filter, [...new Set(quarters)])
  const totals = new Map<ProblemCode, Map<number, number>>()
  for (const { code, before, total } of rows) {
    const told = totals.get(code) ?? new Map<number, number>()
    totals.set(code, told.set(before, total))
  }
  return [...totals]
    .map(([code, told]) => ({ code, ...countsOf(told, quarters) }))
    .filter(({ total }) => total > 0)
    .sort((first, second) => second.total - first.total || (first.code < second.code ? -1 : 1))
}

function countsOf(totals: ReadonlyMap<number, number>, quarters: readonly number[]): Omit<Reason, 'code'> {
  const before = quarters.map((quarter) => totals.get(quarter) ?? 0)
  return {
    total: before.at(-1)! - before[0]!,
    steps: before.slice(1).map((total, step) => total - before[step]!),
  }
}
