import { createCodes, createCodesArgs } from '../../../account/codes/create-codes.ts'
import { listCodes } from '../../../account/codes/list-codes.ts'
import { withdrawCode, withdrawCodeArgs } from '../../../account/codes/withdraw-code.ts'
import { operatedModels } from '../../../account/lanes/explain-route.ts'
import { done, refused } from '../../../account/outcome.ts'
import { listPlans } from '../../../account/plans/list-plans.ts'
import { findAnyRequest } from '../../../account/requests/show-request.ts'
import { listAudit } from '../../../account/trail/list-audit.ts'
import { listWishes } from '../../../account/wallet/wishes.ts'
import type { Handlers } from './ask.ts'
import { type ConsoleHouse, inHandOf } from './console-house.ts'
import { pageOf, withArgs } from './read-input.ts'

type Routes =
  | `${'GET' | 'POST'} /operate/codes`
  | 'POST /operate/codes/:code/withdraw'
  | `GET /operate/${'plans' | 'lanes' | 'wishes' | 'audit' | 'system'}`
  | 'GET /operate/requests/:request'

/** What an operator sees of the whole server, and the codes that are money on paper. */
export function operatorHandlers(house: ConsoleHouse): Pick<Handlers, Routes> {
  return {
    'GET /operate/codes': (_asking, { query }) => listCodes(house, pageOf(query)),
    'POST /operate/codes': (asking, { body }) =>
      withArgs(createCodesArgs, body, (args) =>
        createCodes(inHandOf(asking, house), args, asking.session.person.email),
      ),
    'POST /operate/codes/:code/withdraw': (asking, { params: { code } }) =>
      withArgs(withdrawCodeArgs, { code }, (args) => withdrawCode(inHandOf(asking, house), args)),
    async 'GET /operate/plans'() {
      const listed = await listPlans(house)
      return listed.kind === 'refused' ? listed : done({ items: listed.value.plans })
    },
    'GET /operate/lanes': async () => done({ items: operatedModels(house) }),
    'GET /operate/wishes': (_asking, { query }) => listWishes(house, pageOf(query)),
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
  }
}
