import { changeAccountStatus } from '../../../account/accounts/change-account-status.ts'
import { createAccount } from '../../../account/accounts/create-account.ts'
import { operatedAccount, operatedAccounts } from '../../../account/accounts/operated-accounts.ts'
import { done, type Outcome } from '../../../account/outcome.ts'
import { disablePerson, enablePerson } from '../../../account/people/disable-person.ts'
import { invitePerson } from '../../../account/people/invite-person.ts'
import { assignPlan, endPlan } from '../../../account/plans/assign-plan.ts'
import { adjustWallet, type CreditWalletDeps, creditWallet } from '../../../account/wallet/credit-wallet.ts'
import type { BodyOf } from '../../../contract/console-api.ts'
import type { AskingPerson, Handlers } from './ask.ts'
import { type ConsoleHouse, inHandOf } from './console-house.ts'

/** What an operator does with accounts and people. Acts on money count once by their reference, as on the command line. */
export const accountHandlers = (house: ConsoleHouse) =>
  ({
    'GET /operate/accounts': (_asking, { query }) => operatedAccounts(house, query),
    'GET /operate/accounts/:account': (_asking, { params }) => operatedAccount(house, params.account),
    async 'POST /operate/accounts'(asking, { body }) {
      const made = await createAccount(inHandOf(asking, house), body)
      return made.kind === 'refused' ? made : operatedAccount(house, made.value.id)
    },
    async 'POST /operate/accounts/:account/credit'(asking, { params: { account }, body }) {
      const moved = await moveMoney(inHandOf(asking, house), account, body)
      if (moved.kind === 'refused') return moved
      const { repeated, balance, held, available } = moved.value
      return done({ wallet: { balance, held, available }, counted: !repeated })
    },
    async 'POST /operate/accounts/:account/status'(asking, { params: { account }, body }) {
      const changed = await changeAccountStatus(inHandOf(asking, house), account, body.status)
      return changed.kind === 'refused' ? changed : operatedAccount(house, changed.value.id)
    },
    async 'POST /operate/accounts/:account/plan'(asking, { params: { account }, body: { plan } }) {
      const hand = inHandOf(asking, house)
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
