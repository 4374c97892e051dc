import { listAudit } from '../../admin/audit.ts'
import { readInvite, signUp } from '../../admin/invitations.ts'
import { done, type Outcome } from '../../admin/outcome.ts'
import { changePassword, confirmPassword } from '../../admin/passwords.ts'
import { signedInView } from '../../admin/people.ts'
import type { Session } from '../../admin/people-deps.ts'
import { type Client, endSession, listSessions, type SignedIn, signOut } from '../../admin/sessions.ts'
import { signIn } from '../../admin/sign-in.ts'
import { isoTime } from '../../admin/values.ts'
import type { AnswerOf } from '../../contract/console-api.ts'
import { findPersonByRow, hasPeople } from '../../db/people.ts'
import type { Asking, ConsoleServices, Handlers, Reply } from './handler.ts'
import { CONFIRMED_MS, csrfTokenOf } from './session.ts'

type Standing = AnswerOf<'GET /session'>

/** Who is signed in, and how one comes to be and stops being that. */
export const sessionHandlers = (house: ConsoleServices) => {
  const { people } = house
  return {
    'GET /session': async (asking) => done(await statusOf(house, asking, asking.signedIn)),
    'POST /session': async (asking, { body }) => letIn(house, asking, await signIn(people, body, clientOf(asking))),
    'DELETE /session': async (asking) => {
      await signOut(people, asking.session)
      const value = await statusOf(house, asking, undefined)
      return { kind: 'session', secret: undefined, deviceTokens: undefined, value }
    },
    async 'POST /session/confirm'(asking, { body }) {
      const outcome = await confirmPassword(people, asking.session, body.password, clientOf(asking))
      if (outcome.kind === 'refused') return outcome
      const { secret } = asking.signedIn
      const session = await people.sessions.find(secret)
      return done(await statusOf(house, asking, session && { secret, session }))
    },
    'POST /invitation': (_asking, { body }) => readInvite(people, body.code),
    'POST /sign-up': async (asking, { body }) => letIn(house, asking, await signUp(people, body, clientOf(asking))),
    'PUT /password': async (asking, { body }) =>
      letIn(house, asking, await changePassword(people, asking.session, body, clientOf(asking))),
    'GET /sessions': (asking) => listSessions(people, asking.session),
    async 'DELETE /sessions/:session'(asking, { params }) {
      const outcome = await endSession(people, asking.session, params.session)
      return outcome.kind === 'refused' ? outcome : done({})
    },
    'GET /audit': (asking, { query }) => listAudit(house, { account: asking.account.row, ...query }),
  } satisfies Partial<Handlers>
}

const clientOf = ({ agent, address, deviceTokens }: Asking): Client => ({ agent, address, deviceTokens })

async function letIn(house: ConsoleServices, asking: Asking, outcome: Outcome<SignedIn>): Promise<Reply<Standing>> {
  if (outcome.kind === 'refused') return outcome
  const { value: signedIn } = outcome
  const person = await findPersonByRow(house.db, signedIn.session.person.row)
  const deviceTokens = person && house.people.devices.remember(asking.deviceTokens, person)
  return { kind: 'session', secret: signedIn.secret, deviceTokens, value: await statusOf(house, asking, signedIn) }
}

/** What a page has to know before it shows anything. */
async function statusOf(house: ConsoleServices, { site }: Asking, signedIn: SignedIn | undefined): Promise<Standing> {
  return {
    person: signedIn === undefined ? null : signedInView(signedIn.session),
    csrf: signedIn === undefined ? null : csrfTokenOf(signedIn.secret),
    confirmed_until: signedIn === undefined ? null : confirmedUntil(signedIn.session),
    setup_needed: signedIn === undefined && !(await hasPeople(house.db)),
    version: house.version,
    base_url: house.baseUrl(site.origin),
    currency: 'USD',
  }
}

const confirmedUntil = ({ confirmedAt }: Session): string => isoTime(confirmedAt + CONFIRMED_MS)
