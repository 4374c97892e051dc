import { findRun, findRunByRow, runInsert, type StoredRun } from '../db/runs.ts'
import { SqlFailure, type SqlStore } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import { createLruMap } from '../lib/collections.ts'
import { RUN_CAPS, type RunCapName } from '../model/allowance.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type Problem, problem, retryableProblem } from '../model/problem.ts'
import {
  capsOfRun,
  isConversationRun,
  JOB_RUN,
  RUN_KEPT_MS,
  type Run,
  type RunTerms,
  termsOfConversation,
} from '../model/run.ts'
import type { TurnRequest } from '../model/turn.ts'
import { conversationName } from '../routing/plan-lanes.ts'
import { ledgerUnavailable } from './refusals.ts'
import type { TurnServices } from './turn.ts'

/** Runs whose terms are in memory. They never change, so they are never stale. */
const KNOWN_MAX = 20_000
/** A run is stored before its first request is admitted, so that requests which are refused could fill the database. */
const BEGUN_A_MINUTE = 600
/** Each run around a request is one more counter that its hold is placed on. */
const DEPTH_MAX = 8
const DAY_MS = 86_400_000
const LIVES_MS = 7 * DAY_MS
const LIVES_MS_MAX = 90 * DAY_MS

export type OpenRunOutcome =
  | { readonly kind: 'run'; readonly run: Run }
  | { readonly kind: 'refused'; readonly problem: Problem }

export interface Runs {
  /**
   * The run that a request names; its first request begins it. Synchronous with most later requests. The requests of a CI job do not
   * leave its run.
   */
  open(caller: Pick<Caller, 'account' | 'person' | 'job'>, terms: RunTerms): OpenRunOutcome | Promise<OpenRunOutcome>
}

type Beginner = Parameters<Runs['open']>[0]

interface RunServices {
  readonly db: LedgerDb
  readonly file: Pick<SqlStore, 'atomic'>
  readonly now: () => number
  /** The database could not be read or written. */
  readonly onFailure: (error: SqlFailure) => void
}

interface KnownRun extends Run {
  readonly parent: string | undefined
  readonly amounts: Readonly<Partial<Record<RunCapName, bigint | null>>>
}

export function createRuns({ db, file, now, onFailure }: RunServices): Runs {
  const known = createLruMap<string, KnownRun>(KNOWN_MAX)

  /** How many runs an account has begun here in the minute that runs. */
  const begun = createLruMap<AccountRow, { minute: number; count: number }>(KNOWN_MAX)
  const mayBegin = (account: AccountRow, at: number): boolean => {
    const minute = Math.floor(at / 60_000)
    const known = begun.get(account)
    if (known?.minute !== minute) begun.set(account, { minute, count: 1 })
    else known.count += 1
    return known?.minute !== minute || known.count <= BEGUN_A_MINUTE
  }

  /** With the runs around it. */
  const load = async (stored: StoredRun): Promise<KnownRun> => {
    const amounts = { total: stored.max_nano, requests: big(stored.max_requests), tokens: big(stored.max_tokens) }
    const around: StoredRun[] = []
    for (let parent = stored.parent; parent !== null; ) {
      const next = await findRunByRow(db, parent)
      if (next === undefined) break
      around.push(next)
      parent = next.parent
    }
    const outer = around.flatMap((each) =>
      capsOfRun(each.row, each.ends_at, {
        ...{ total: each.max_nano, requests: big(each.max_requests), tokens: big(each.max_tokens) },
      }),
    )
    return {
      ...{ row: stored.row, id: stored.id, parent: around[0]?.id, amounts },
      ids: [stored.id, ...around.map(({ id }) => id)],
      caps: [...capsOfRun(stored.row, stored.ends_at, amounts), ...outer],
      endsAt: Math.min(stored.ends_at, ...around.map(({ ends_at }) => ends_at)),
    }
  }

  const begin = async ({ account, person, job }: Beginner, terms: RunTerms): Promise<StoredRun | Problem> => {
    if (isConversationRun(terms.id) && terms.areOfKey !== true)
      return wrong(
        `Only a key that gives each conversation a run begins one whose id begins with \`conversation-\`. Choose another id.`,
      )
    if (terms.id.startsWith(JOB_RUN))
      return wrong(`Only the token of a CI job begins a run whose id begins with \`${JOB_RUN}\`. Choose another id.`)
    let parent: StoredRun | undefined
    let outer: KnownRun | undefined
    const around = terms.parent ?? job?.run
    if (around !== undefined) {
      parent = await findRun(db, account, around)
      const message = `No run of this account has the id ${JSON.stringify(around)}. Send the first request of a run before those of the runs inside it.`
      if (parent === undefined) return wrong(message)
      outer = await load(parent)
      if (job !== undefined && !outer.ids.includes(job.run)) return outside(job.run)
      if (outer.ids.length >= DEPTH_MAX)
        return wrong(`Runs may be ${DEPTH_MAX} deep. Give this one a parent further out.`)
    }
    const opened = now()
    const { ends } = terms
    const wanted = ends === undefined ? opened + LIVES_MS : 'at' in ends ? ends.at : opened + ends.afterMs
    const endsAt = Math.min(wanted, outer?.endsAt ?? wanted)
    if (endsAt <= opened) return ended({ id: terms.id, endsAt })
    if (!mayBegin(account, opened)) return tooMany(terms)
    const run = {
      ...{ account, id: terms.id, parent: parent?.row ?? null, amounts: terms.amounts, opened_at: opened },
      ends_at: Math.min(wanted, opened + LIVES_MS_MAX),
      person: person ?? null,
    }
    await file.atomic([runInsert(run)])
    return (await findRun(db, account, terms.id)) ?? wrong('The run could not be stored.')
  }

  const find = async (caller: Beginner, terms: RunTerms): Promise<OpenRunOutcome> => {
    const { account } = caller
    const stored = (await findRun(db, account, terms.id)) ?? (await begin(caller, terms))
    if ('code' in stored) return { kind: 'refused', problem: stored }
    const run = await load(stored)
    known.set(`${account} ${terms.id}`, run)
    return judge(run, terms, caller.job)
  }

  const unavailable = (error: unknown): OpenRunOutcome => {
    if (!(error instanceof SqlFailure)) throw error
    onFailure(error)
    return { kind: 'refused', problem: ledgerUnavailable() }
  }

  const judge = (run: KnownRun, terms: RunTerms, job: Beginner['job']): OpenRunOutcome => {
    const isOutside = job !== undefined && !run.ids.includes(job.run)
    const refusal =
      (isOutside ? outside(job.run) : terms.areOfKey ? undefined : differenceOf(run, terms)) ??
      (run.endsAt <= now() ? ended(run) : undefined)
    return refusal === undefined ? { kind: 'run', run } : { kind: 'refused', problem: refusal }
  }

  return {
    open(caller, terms) {
      const run = known.get(`${caller.account} ${terms.id}`)
      // The ledger may have forgotten it by now.
      return run === undefined || run.endsAt + RUN_KEPT_MS <= now()
        ? find(caller, terms).catch(unavailable)
        : judge(run, terms, caller.job)
    },
  }
}

const big = (count: number | null): bigint | null => (count === null ? null : BigInt(count))

const wrong = (message: string): Problem => problem('invalid_value', message, { param: 'x-millrace-run' })

const outside = (within: string): Problem =>
  wrong(
    `The key of a CI job works in the run ${JSON.stringify(within)} and in runs inside it. Leave the header out, or choose an id of your own.`,
  )

/** The terms of a run do not change: else a child could raise its own budget. */
function differenceOf({ id, parent, amounts }: KnownRun, terms: RunTerms): Problem | undefined {
  for (const name of Object.keys(RUN_CAPS) as RunCapName[]) {
    const [asked, stored] = [terms.amounts[name], amounts[name]]
    if (asked === undefined || asked === stored) continue
    const has = stored == null ? 'none' : name === 'total' ? formatUsd(stored) : String(stored)
    const parameter = name === 'total' ? 'max' : `max_${name}`
    return wrong(
      `The run ${JSON.stringify(id)} has had \`${parameter}\` ${has} since its first request. Send the same or leave it out, or begin another run.`,
    )
  }
  if (terms.parent === undefined || terms.parent === parent) return undefined
  return wrong(
    `The run ${JSON.stringify(id)} ${parent === undefined ? 'is in no other run' : `is in the run ${JSON.stringify(parent)}`}. Leave \`parent\` out, or begin another run.`,
  )
}

const REQUIRED =
  'This API key requires a run: send the header `x-millrace-run` with an id and a budget, such as `fix-17; max=0.50`, and the same id with each request of the task.'

/** The key of the request requires a run, and it names none. */
export const runRequired = (): Problem => problem('run_required', REQUIRED, { param: 'x-millrace-run' })

/** The run that the key gives to the conversation of a request which names none. */
export function termsByKey(
  { cacheSaltOf }: Pick<TurnServices, 'cacheSaltOf'>,
  { key, run, accountId }: Caller,
  request: TurnRequest,
): RunTerms | undefined {
  if (run === undefined || run === 'required') return undefined
  // Each key has its own, so that none draws on the budget of another.
  // Salted: else another key of the account could find out by its name what was asked.
  const owner = `${cacheSaltOf(accountId)} ${key}`
  return termsOfConversation(conversationName(owner, request), run.each_conversation)
}

const tooMany = ({ areOfKey }: RunTerms): Problem =>
  retryableProblem(
    'rate_limit_exceeded',
    `An account may begin ${BEGUN_A_MINUTE} ${areOfKey ? 'conversations of keys with a budget for each' : 'runs'} a minute.`,
    { first: areOfKey ? 'Nothing was charged' : 'Let requests share one', retryAfterSeconds: 60 },
  )

const ended = ({ id, endsAt }: Pick<Run, 'id' | 'endsAt'>): Problem =>
  problem(
    'run_budget_exceeded',
    `The run ${JSON.stringify(id)} ended at ${new Date(endsAt).toISOString()}. Begin a new ${isConversationRun(id) ? 'conversation' : 'run'}.`,
    { details: { holder: 'run', run: id } },
  )
