import { createCodes } from '../../../account/codes/create-codes.ts'
import { listCodes } from '../../../account/codes/list-codes.ts'
import { withdrawCode } from '../../../account/codes/withdraw-code.ts'
import { operatedModels } from '../../../account/lanes/explain-route.ts'
import { done, refused } from '../../../account/outcome.ts'
import { listPlans } from '../../../account/plans/list-plans.ts'
import { findAnyRequest } from '../../../account/requests/show-request.ts'
import { listAudit } from '../../../account/trail/list-audit.ts'
import { listWishes } from '../../../account/wallet/wishes.ts'
import type { Handlers } from './ask.ts'
import { type ConsoleHouse, inHandOf } from './console-house.ts'

/** What an operator sees of the whole server, and the codes that are money on paper. */
export const operatorHandlers = (house: ConsoleHouse) =>
  ({
    'GET /operate/codes': (_asking, { query }) => listCodes(house, query),
    'POST /operate/codes': (asking, { body }) =>
      createCodes(inHandOf(asking, house), body, asking.session.person.email),
    'POST /operate/codes/:code/withdraw': (asking, { params }) => withdrawCode(inHandOf(asking, house), params),
    'GET /operate/plans': () => listPlans(house),
    'GET /operate/lanes': async () => done({ items: operatedModels(house) }),
    'GET /operate/wishes': (_asking, { query }) => listWishes(house, query),
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
