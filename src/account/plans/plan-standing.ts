import type { z } from 'zod'
import type { AllowanceStanding } from '../../books/periods.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { modelsOfPlan } from '../../catalog/visible-models.ts'
import type { planAnswer } from '../../contract/plan.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow } from '../../model/ids.ts'
import { formatUsd } from '../../model/money.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { listWindowSubjects, listWindowsBefore, type StoredWindow } from '../../store/windows.ts'
import { done, type Outcome } from '../outcome.ts'
import { windowView } from './allowance-view.ts'
import { planOfAccount, type ShowPlanDeps, standingsOf, subscriptionFacts } from './plan-of-account.ts'
import { countOnWindows, storedWindow, usedOf, type WindowStanding, windowId } from './windows.ts'

export interface PlanStandingDeps extends ShowPlanDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly catalog: () => Pick<Catalog, 'plans' | 'entries'>
}

type PlanAnswer = z.output<typeof planAnswer>

/** How many windows that are over are told, of each kind and in all. */
const PAST_OF_A_KIND = 10
const PAST = 30

/** The plan of an account: its windows as admission sees them, and those that are over. */
export async function planStanding(deps: PlanStandingDeps, account: AccountRow): Promise<Outcome<PlanAnswer>> {
  const plan = await planOfAccount(deps, account)
  const { configured } = plan
  return done({
    ...subscriptionFacts(plan),
    models: configured === undefined ? [] : modelsOfPlan(deps.catalog().entries.values(), configured),
    windows: await windowsOf(deps.db, account, await standingsOf(deps, account, plan)),
    past: (await pastWindows(deps, account)).map(pastOf),
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

/** What nobody has used has not opened, and so has not ended either. */
async function pastWindows({ db, clock }: PlanStandingDeps, account: AccountRow): Promise<StoredWindow[]> {
  const now = clock.now()
  const subjects = await listWindowSubjects(db, account)
  const listed = await Promise.all(
    // The one that runs is among the latest.
    subjects.map((subject) => listWindowsBefore(db, account, { subject, before: now, limit: PAST_OF_A_KIND + 1 })),
  )
  const over = listed.flat().filter((each) => each.period_end <= now && usedOf(each) > 0n)
  return over.sort((one, other) => other.period_end - one.period_end).slice(0, PAST)
}

function pastOf(stored: StoredWindow): PlanAnswer['past'][number] {
  const { id, name, start, end } = storedWindow(stored, null)
  return {
    ...{ id: id ?? '', name, start, end },
    ...{ limit: formatUsd(stored.granted_nano), used: formatUsd(usedOf(stored)) },
  }
}
