import type { z } from 'zod'
import type { AllowanceStanding } from '../../books/books.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { modelsOfPlan } from '../../catalog/visible-models.ts'
import type { planAnswer } from '../../contract/plan.ts'
import type { AccountRow } from '../../model/ids.ts'
import { formatUsd } from '../../model/money.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { listLatestWindows, listWindowSubjects, type StoredWindow } from '../../store/windows.ts'
import { done, type Outcome } from '../outcome.ts'
import { windowView } from './allowance-view.ts'
import { planOfAccount, type ShowPlanDeps, standingsOf, subscriptionFacts } from './plan-of-account.ts'
import { countOnWindows, storedWindow, usedOf, type WindowStanding, windowId } from './windows.ts'

export interface PlanStandingDeps extends ShowPlanDeps {
  readonly catalog: () => Pick<Catalog, 'plans' | 'entries'>
}

type PlanAnswer = z.output<typeof planAnswer>

/** How many of the others are told, of each kind and in all. */
const PAST_OF_A_KIND = 10
const PAST = 30

/** The plan of an account: its windows as admission sees them, and those that are over or that no plan has now. */
export async function planStanding(deps: PlanStandingDeps, account: AccountRow): Promise<Outcome<PlanAnswer>> {
  // Read before the plan: a window that opens meanwhile is then among those that run, and not among the others.
  const latest = await latestWindows(deps.db, account)
  const plan = await planOfAccount(deps, account)
  const { configured } = plan
  const windows = await windowsOf(deps.db, account, await standingsOf(deps, account, plan))
  return done({
    ...subscriptionFacts(plan),
    models: configured === undefined ? [] : modelsOfPlan(deps.catalog().entries.values(), configured),
    windows,
    past: pastWindows(latest, windows),
  })
}

async function windowsOf(
  db: LedgerDb,
  account: AccountRow,
  standings: readonly AllowanceStanding[],
): Promise<WindowStanding[]> {
  const running = standings.flatMap(({ running: bucket }) =>
    bucket === undefined ? [] : [{ bucket: bucket.row as number, start: bucket.start }],
  )
  const counts = await countOnWindows(db, account, running)
  return standings.map((standing) => {
    const view = windowView(standing)
    const bucket = view.opened ? standing.running : undefined
    if (bucket === undefined) return { ...view, id: null, requests: 0 }
    return { ...view, id: windowId(bucket), requests: counts.get(bucket.row) ?? null }
  })
}

/** Of each kind that the account ever had one of. */
async function latestWindows(db: LedgerDb, account: AccountRow): Promise<StoredWindow[]> {
  const subjects = await listWindowSubjects(db, account)
  // The one that runs is among the latest.
  const listed = subjects.map((subject) => listLatestWindows(db, account, { subject, limit: PAST_OF_A_KIND + 1 }))
  return (await Promise.all(listed)).flat()
}

/**
 * Windows that are over, and those whose time still runs, but whose plan has ended or has no such window any more. What
 * nobody has used has not opened, and so has not ended either.
 */
function pastWindows(latest: readonly StoredWindow[], windows: readonly WindowStanding[]): PlanAnswer['past'] {
  const running = new Set(windows.map(({ id }) => id))
  return latest
    .filter((each) => usedOf(each) > 0n && !running.has(idOf(each)))
    .sort((one, other) => other.period_end - one.period_end)
    .slice(0, PAST)
    .map(pastOf)
}

const idOf = ({ subject, period_start: start }: StoredWindow): string => windowId({ subject, start })

function pastOf(stored: StoredWindow): PlanAnswer['past'][number] {
  const { name, start, end } = storedWindow(stored, null)
  return {
    ...{ id: idOf(stored), name, start, end },
    ...{ limit: formatUsd(stored.granted_nano), used: formatUsd(usedOf(stored)) },
  }
}
