import { listAudit } from '../../admin/audit.ts'
import { createCodes, listCodes, withdrawCode } from '../../admin/codes.ts'
import { operatedModels } from '../../admin/explain-route.ts'
import { done, refused } from '../../admin/outcome.ts'
import { listPlans } from '../../admin/plans.ts'
import { findAnyRequest } from '../../admin/requests.ts'
import { listFundingRequests } from '../../admin/wallet.ts'
import { type ConsoleServices, type Handlers, withActor } from './handler.ts'

/** What an operator sees of the whole server, and the codes that are money on paper. */
export const operatorHandlers = (house: ConsoleServices) =>
  ({
    'GET /operate/codes': (_asking, { query }) => listCodes(house, query),
    'POST /operate/codes': (asking, { body }) =>
      createCodes(withActor(asking, house), body, asking.session.person.email),
    'POST /operate/codes/:code/withdraw': (asking, { params }) => withdrawCode(withActor(asking, house), params),
    'GET /operate/plans': () => listPlans(house),
    'GET /operate/lanes': async () => done({ items: operatedModels(house) }),
    'GET /operate/wishes': (_asking, { query }) => listFundingRequests(house, query),
    'GET /operate/requests/:request': (_asking, { params }) => findAnyRequest(house, params.request),
    'GET /operate/audit': (_asking, { query }) => listAudit(house, query),
    async 'GET /operate/system'() {
      const status = house.status()
      if (!status.running) return refused('unknown_operation', 'No server runs here.')
      const { version, node, driver, data, config, started_at, ledger_available } = status
      const { requests_running, requests_served } = status
      return done({
        ...{ version, node, driver, data, config, started_at, ledger_available },
        ...{ requests_running, requests_served },
      })
    },
  }) satisfies Partial<Handlers>
