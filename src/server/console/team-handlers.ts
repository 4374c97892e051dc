import { changeMemberCaps, changeNewKeyCaps, raiseMemberCap, showNewKeyCaps } from '../../admin/caps.ts'
import { raiseKeyCap, showOwnKey } from '../../admin/keys.ts'
import { showCappedMember, withManaged } from '../../admin/members.ts'
import { ifDone } from '../../admin/outcome.ts'
import { changeTeam, createTeam, listTeams, raiseTeamCap, showTeam } from '../../admin/teams.ts'
import { type AccountRequest, type ConsoleServices, type Handlers, withActor } from './handler.ts'

/** Teams of an account, and the caps of teams, people and new keys. Ids of other accounts are answered like ids that do not exist. */
export const teamHandlers = (services: ConsoleServices) =>
  ({
    'GET /teams': ({ account }, { query }) => listTeams(services, { account: account.id, ...query }),
    'POST /teams': (request, { body }) =>
      createTeam(withActor(request, services), { account: request.account.id, ...body }),
    'GET /teams/:team': ({ account }, { params }) => showTeam(services, params, account.row),
    'PATCH /teams/:team': (request, { params, body }) =>
      changeTeam(
        withActor(request, services),
        { ...body, ...params },
        { of: request.account.row, mayWiden: request.isConfirmed },
      ),
    'POST /teams/:team/raise': (request, { params, body }) =>
      ifDone(raiseTeamCap(withActor(request, services), { ...body, ...params }, request.account.row), () =>
        showTeam(services, params, request.account.row),
      ),
    'GET /new-key-caps': ({ account }) => showNewKeyCaps(services, { account: account.id }),
    'PATCH /new-key-caps': (request, { body }) =>
      changeNewKeyCaps(
        withActor(request, services),
        { account: request.account.id, ...body },
        { mayWiden: request.isConfirmed },
      ),
    'GET /members/:person': ({ account }, { params }) => showCappedMember(services, account.row, params),
    'PATCH /members/:person/caps': (request, { params, body }) =>
      withManaged(services, managerOf(request), params.person, () =>
        ifDone(
          changeMemberCaps(withActor(request, services), { ...body, ...params }, { mayWiden: request.isConfirmed }),
          () => showCappedMember(services, request.account.row, params),
        ),
      ),
    'POST /members/:person/raise': (request, { params, body }) =>
      withManaged(services, managerOf(request), params.person, () =>
        ifDone(raiseMemberCap(withActor(request, services), { ...body, ...params }), () =>
          showCappedMember(services, request.account.row, params),
        ),
      ),
    'POST /keys/:key/raise': (request, { params, body }) =>
      ifDone(raiseKeyCap(withActor(request, services), { ...body, ...params }, request.scope), () =>
        showOwnKey(services, request.scope, params.key),
      ),
  }) satisfies Partial<Handlers>

export const managerOf = ({ account, role, session }: AccountRequest) => ({ account, role, person: session.person })
