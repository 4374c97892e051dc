import { changeAccountStatus } from '../../../account/accounts/change-account-status.ts'
import { createAccount, createAccountArgs } from '../../../account/accounts/create-account.ts'
import { operatedAccount, operatedAccounts } from '../../../account/accounts/operated-accounts.ts'
import { done, type Outcome } from '../../../account/outcome.ts'
import { disablePerson, enablePerson } from '../../../account/people/disable-person.ts'
import { invitePerson, invitePersonArgs } from '../../../account/people/invite-person.ts'
import { assignPlan, endPlan } from '../../../account/plans/assign-plan.ts'
import {
  adjustWallet,
  adjustWalletArgs,
  type CreditWalletDeps,
  creditWallet,
  creditWalletArgs,
} from '../../../account/wallet/credit-wallet.ts'
import type { AskingPerson, Handlers } from './ask.ts'
import { type ConsoleHouse, inHandOf } from './console-house.ts'
import { withArgs } from './read-input.ts'

type Routes =
  | `${'GET' | 'POST'} /operate/accounts`
  | 'GET /operate/accounts/:account'
  | `POST /operate/accounts/:account/${'credit' | 'status' | 'plan' | 'invite'}`
  | `POST /operate/people/:person/${'disable' | 'enable'}`

/** What an operator does with accounts and people. Acts on money count once by their reference, as on the command line. */
export function accountHandlers(house: ConsoleHouse): Pick<Handlers, Routes> {
  return {
    'GET /operate/accounts': (_asking, { query }) => operatedAccounts(house, query),
    'GET /operate/accounts/:account': (_asking, { params }) => operatedAccount(house, params.account),
    async 'POST /operate/accounts'(asking, { body }) {
      const made = await withArgs(createAccountArgs, body, (args) => createAccount(inHandOf(asking, house), args))
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
    async 'POST /operate/accounts/:account/invite'(asking, { params: { account }, body }) {
      const { email } = asking.session.person
      const order = { account, ...body }
      const invited = await withArgs(invitePersonArgs, order, (args) => invitePerson(house.people, args, email))
      return invited.kind === 'refused' ? invited : done(linkOf(asking, invited.value))
    },
    'POST /operate/people/:person/disable': (asking, { params: { person } }) =>
      nothing(disablePerson(house.people, { person }, asking.session.person.email)),
    'POST /operate/people/:person/enable': (asking, { params: { person } }) =>
      nothing(enablePerson(house.people, { person }, asking.session.person.email)),
  }
}

/** With a minus it makes a mistake good; never more than is there. */
const moveMoney = (house: CreditWalletDeps, account: string, body: { amount: string; reason: string; ref: string }) =>
  body.amount.startsWith('-')
    ? withArgs(adjustWalletArgs, { account, ...body, amount: body.amount.slice(1), direction: 'take' }, (args) =>
        adjustWallet(house, args),
      )
    : withArgs(creditWalletArgs, { account, ...body }, (args) => creditWallet(house, args))

/** Under the name by which this operator reaches the console, which is the likeliest to work for the one who is invited. */
const linkOf = ({ site }: AskingPerson, invited: { code: string; expires_at: string }) => ({
  link: `${site.origin}/console/setup?code=${invited.code}`,
  expires_at: invited.expires_at,
})

async function nothing(outcome: Promise<Outcome<unknown>>): Promise<Outcome<Record<never, never>>> {
  const ended = await outcome
  return ended.kind === 'refused' ? ended : done({})
}
