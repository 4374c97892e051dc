import { assignPlan } from '../../account/assign-plan.ts'
import { changeAccountStatus } from '../../account/change-account-status.ts'
import { createAccount, createAccountArgs } from '../../account/create-account.ts'
import { adjustWallet, adjustWalletArgs, creditWallet, creditWalletArgs } from '../../account/credit-wallet.ts'
import { disablePerson, enablePerson } from '../../account/disable-person.ts'
import { endPlan } from '../../account/end-plan.ts'
import { invitePerson, invitePersonArgs } from '../../account/invite-person.ts'
import { operatedAccount, operatedAccounts } from '../../account/operated-accounts.ts'
import { done, type Outcome } from '../../account/outcome.ts'
import { findAccountById } from '../../store/accounts.ts'
import type { AskingPerson, Handlers } from './ask.ts'
import type { ConsoleHouse } from './console-house.ts'
import { type Act, noteAct } from './note-act.ts'
import { withArgs } from './with-args.ts'

type Routes =
  | `${'GET' | 'POST'} /operate/accounts`
  | 'GET /operate/accounts/:account'
  | `POST /operate/accounts/:account/${'credit' | 'status' | 'plan' | 'invite'}`
  | `POST /operate/people/:person/${'disable' | 'enable'}`

/** What an operator does with accounts and people. Acts on money count once by their reference, as on the command line. */
export function accountHandlers(house: ConsoleHouse): Pick<Handlers, Routes> {
  const note = async (asking: AskingPerson, id: string, act: Omit<Act, 'target' | 'account'>) => {
    const account = await findAccountById(house.db, id)
    await noteAct(house, asking, { ...act, target: id, account: account?.row })
  }
  return {
    'GET /operate/accounts': (_asking, { query }) => operatedAccounts(house, query),
    'GET /operate/accounts/:account': (_asking, { params }) => operatedAccount(house, params.account),
    async 'POST /operate/accounts'(asking, { body }) {
      const made = await withArgs(createAccountArgs, body, (args) => createAccount(house, args))
      if (made.kind === 'refused') return made
      await note(asking, made.value.id, { action: 'account_created', detail: made.value.email })
      return operatedAccount(house, made.value.id)
    },
    async 'POST /operate/accounts/:account/credit'(asking, { params: { account }, body }) {
      const moved = await moveMoney(house, account, body)
      if (moved.kind === 'refused') return moved
      const { repeated, amount, reason, ref, balance, held, available } = moved.value
      const counted = !repeated
      const detail = `${amount} USD, ${reason} (${ref})${counted ? '' : ': counted before'}`
      await note(asking, moved.value.account, { action: 'wallet_credited', detail })
      return done({ wallet: { balance, held, available }, counted })
    },
    async 'POST /operate/accounts/:account/status'(asking, { params: { account }, body }) {
      const changed = await changeAccountStatus(house, account, body.status)
      if (changed.kind === 'refused') return changed
      await note(asking, changed.value.id, { action: 'account_status', detail: body.status })
      return operatedAccount(house, changed.value.id)
    },
    async 'POST /operate/accounts/:account/plan'(asking, { params: { account }, body: { plan } }) {
      const changed = plan === null ? await endPlan(house, { account }) : await assignPlan(house, { account, plan })
      if (changed.kind === 'refused') return changed
      const { account: id } = changed.value
      await note(asking, id, { action: plan === null ? 'plan_ended' : 'plan_assigned', detail: plan ?? '' })
      return operatedAccount(house, id)
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
const moveMoney = (house: ConsoleHouse, account: string, body: { amount: string; reason: string; ref: string }) =>
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
