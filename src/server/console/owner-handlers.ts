import { operatedAccount, operatedAccounts } from '../../admin/account-views.ts'
import { changeAccountStatus, createAccount } from '../../admin/accounts.ts'
import { invitePerson } from '../../admin/invitations.ts'
import { listOwnKeys, type OwnKey, showOwnKey } from '../../admin/key-views.ts'
import { type CreatedKey, changeKey, createKey, revokeKey, rotateKey } from '../../admin/keys.ts'
import { offeredModels } from '../../admin/models.ts'
import { done, type Outcome } from '../../admin/outcome.ts'
import { disablePerson, enablePerson } from '../../admin/people.ts'
import { assignPlan, endPlan, planStatus } from '../../admin/plans.ts'
import { redeemCode } from '../../admin/redeem-code.ts'
import { refusedTurnsReport } from '../../admin/refused-turns.ts'
import { listRequests, showRequest, windowRows } from '../../admin/requests.ts'
import { exportStatement, walletStatement } from '../../admin/statement.ts'
import { overview, usageOverview } from '../../admin/usage-overview.ts'
import { exportUsage, usageReport } from '../../admin/usage-report.ts'
import { adjustWallet, type CreditWalletDeps, creditWallet, requestFunding, walletBalance } from '../../admin/wallet.ts'
import type { BodyOf } from '../../contract/console-api.ts'
import { type AskingOwner, type AskingPerson, type ConsoleServices, type Handlers, withActor } from './handler.ts'

/** What an operator does with accounts and people. Acts on money count once by their reference, as on the command line. */
export const accountHandlers = (house: ConsoleServices) =>
  ({
    'GET /operate/accounts': (_asking, { query }) => operatedAccounts(house, query),
    'GET /operate/accounts/:account': (_asking, { params }) => operatedAccount(house, params.account),
    async 'POST /operate/accounts'(asking, { body }) {
      const made = await createAccount(withActor(asking, house), body)
      return made.kind === 'refused' ? made : operatedAccount(house, made.value.id)
    },
    async 'POST /operate/accounts/:account/credit'(asking, { params: { account }, body }) {
      const moved = await moveMoney(withActor(asking, house), account, body)
      if (moved.kind === 'refused') return moved
      const { repeated, balance, held, available } = moved.value
      return done({ wallet: { balance, held, available }, counted: !repeated })
    },
    async 'POST /operate/accounts/:account/status'(asking, { params: { account }, body }) {
      const changed = await changeAccountStatus(withActor(asking, house), account, body.status)
      return changed.kind === 'refused' ? changed : operatedAccount(house, changed.value.id)
    },
    async 'POST /operate/accounts/:account/plan'(asking, { params: { account }, body: { plan } }) {
      const hand = withActor(asking, house)
      const changed = plan === null ? await endPlan(hand, { account }) : await assignPlan(hand, { account, plan })
      return changed.kind === 'refused' ? changed : operatedAccount(house, changed.value.account)
    },
    async 'POST /operate/accounts/:account/invite'(asking, { params, body }) {
      const invited = await invitePerson(house.people, { ...params, ...body }, asking.session.person.email)
      return invited.kind === 'refused' ? invited : done(linkOf(asking, invited.value))
    },
    'POST /operate/people/:person/disable': (asking, { params }) =>
      nothing(disablePerson(house.people, params, asking.session.person.email)),
    'POST /operate/people/:person/enable': (asking, { params }) =>
      nothing(enablePerson(house.people, params, asking.session.person.email)),
  }) satisfies Partial<Handlers>

/** With a minus it makes a mistake good; never more than is there. */
function moveMoney(
  house: CreditWalletDeps,
  account: string,
  { amount, ...why }: BodyOf<'POST /operate/accounts/:account/credit'>,
) {
  if (!amount.startsWith('-')) return creditWallet(house, { account, amount, ...why })
  return adjustWallet(house, { account, amount: amount.slice(1), direction: 'take', ...why })
}

/** Under the name by which this operator reaches the console, which is the likeliest to work for the one who is invited. */
const linkOf = ({ site }: AskingPerson, invited: { code: string; expires_at: string }) => ({
  link: `${site.origin}/console/setup?code=${invited.code}`,
  expires_at: invited.expires_at,
})

async function nothing(outcome: Promise<Outcome<unknown>>): Promise<Outcome<Record<never, never>>> {
  const ended = await outcome
  return ended.kind === 'refused' ? ended : done({})
}

/** An owner's keys. Whatever is named has to be their own: of another account's key not even that it is there is said. */
export const keyHandlers = (house: ConsoleServices) =>
  ({
    'GET /keys': (asking, { query }) => listOwnKeys(house, asking.account.row, query),
    'GET /keys/:key': (asking, { params }) => showOwnKey(house, asking.account.row, params.key),
    async 'POST /keys'(asking, { body }) {
      const made = await createKey(withActor(asking, house), { account: asking.account.id, ...body })
      return made.kind === 'refused' ? made : tellSecret(house, asking, made.value)
    },
    async 'PATCH /keys/:key'(asking, { params: { key }, body }) {
      const changed = await changeKey(withActor(asking, house), { key, ...body }, asOwner(asking))
      return changed.kind === 'refused' ? changed : showOwnKey(house, asking.account.row, key)
    },
    async 'POST /keys/:key/rotate'(asking, { params: { key }, body }) {
      const rotated = await rotateKey(withActor(asking, house), { key, ...body }, asking.account.row)
      return rotated.kind === 'refused' ? rotated : tellSecret(house, asking, rotated.value)
    },
    async 'POST /keys/:key/revoke'(asking, { params: { key } }) {
      const revoked = await revokeKey(withActor(asking, house), { key }, asOwner(asking))
      return revoked.kind === 'refused' ? revoked : showOwnKey(house, asking.account.row, key)
    },
  }) satisfies Partial<Handlers>

const asOwner = ({ account, isConfirmed }: AskingOwner) => ({ of: account.row, mayWiden: isConfirmed })

async function tellSecret(
  house: ConsoleServices,
  { account }: AskingOwner,
  { id, key: secret }: CreatedKey,
): Promise<Outcome<{ key: OwnKey; secret: string }>> {
  const shown = await showOwnKey(house, account.row, id)
  return shown.kind === 'refused' ? shown : done({ key: shown.value, secret })
}

/** What an account has used and may use. All of it is only read. */
export const usageHandlers = (house: ConsoleServices) =>
  ({
    'GET /overview': (asking) => overview(house, asking.account.row),
    'GET /overview/usage': (asking, { query }) => usageOverview(house, { account: asking.account.id, ...query }),
    'GET /plan': (asking) => planStatus(house, asking.account.row),
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

/** What an owner's wallet holds, what moved it, and how something comes into it. */
export const walletHandlers = (house: ConsoleServices) =>
  ({
    'GET /wallet': async (asking) => done(await walletBalance(house, asking.account.row)),
    'GET /wallet/statement': (asking, { query }) => walletStatement(house, asking.account.row, query),
    async 'GET /wallet/statement.csv'(asking, { query }) {
      const pieces = await exportStatement(house, asking.account.row, query)
      return pieces.kind === 'refused' ? pieces : { kind: 'file', name: 'millrace-statement.csv', pieces: pieces.value }
    },
    'POST /wallet/redeem': (asking, { body }) => redeemCode(withActor(asking, house), asking.account.row, body),
    async 'POST /wallet/ask'(asking, { body }) {
      const { row } = asking.account
      const asked = await requestFunding(withActor(asking, house), row, body)
      return asked.kind === 'refused' ? asked : done(await walletBalance(house, row))
    },
  }) satisfies Partial<Handlers>
