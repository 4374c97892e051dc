import { offeredModels } from '../../../account/models/offered-models.ts'
import { done } from '../../../account/outcome.ts'
import { overview } from '../../../account/overview.ts'
import { planStanding } from '../../../account/plans/plan-standing.ts'
import { windowRows } from '../../../account/plans/window-rows.ts'
import { listRequests } from '../../../account/requests/list-requests.ts'
import { showRequest } from '../../../account/requests/show-request.ts'
import { exportUsage } from '../../../account/usage/export-usage.ts'
import { refusedTurnsReport } from '../../../account/usage/refused-turns-report.ts'
import { usageOverview } from '../../../account/usage/usage-overview.ts'
import { usageReport } from '../../../account/usage/usage-report.ts'
import type { Handlers } from './ask.ts'
import type { ConsoleHouse } from './console-house.ts'

/** What an account has used and may use. All of it is only read. */
export const usageHandlers = (house: ConsoleHouse) =>
  ({
    'GET /overview': (asking) => overview(house, asking.account.row),
    'GET /overview/usage': (asking, { query }) => usageOverview(house, { account: asking.account.id, ...query }),
    'GET /plan': (asking) => planStanding(house, asking.account.row),
    'GET /plan/windows/:window': (asking, { params, query }) =>
      windowRows(house, asking.account.row, params.window, query),
    'GET /usage': (asking, { query }) => usageReport(house, { account: asking.account.id, ...query }),
    async 'GET /usage.csv'(asking, { query }) {
      const csv = await exportUsage(house, { account: asking.account.id, ...query })
      return csv.kind === 'refused' ? csv : { kind: 'file', name: 'millrace-usage.csv', pieces: [csv.value] }
    },
    'GET /usage/refused': (asking, { query }) => refusedTurnsReport(house, { account: asking.account.id, ...query }),
    'GET /requests': (asking, { query }) => listRequests(house, asking.account.row, query),
    'GET /requests/:request': (asking, { params }) => showRequest(house, asking.account.row, params.request),
    'GET /models': async (asking) => done({ items: await offeredModels(house, asking.account.row) }),
  }) satisfies Partial<Handlers>
