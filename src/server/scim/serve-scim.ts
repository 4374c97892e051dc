import { actorOf } from '../../admin/admin-keys.ts'
import { actorLogOf } from '../../admin/audit.ts'
import {
  createGroup,
  deleteGroup,
  GROUP_SCHEMA,
  listGroups,
  patchGroup,
  replaceGroup,
  showGroup,
} from '../../admin/scim-groups.ts'
import {
  changeDirectory,
  createUser,
  deleteUser,
  listOf,
  listUsers,
  patchUser,
  type QueryReader,
  replaceUser,
  type ScimOutcome,
  type ScimServices,
  showUser,
  USER_SCHEMA,
} from '../../admin/scim-users.ts'
import { refuseScim, type ScimRefused } from '../../admin/scim-values.ts'
import { findAccountByRow } from '../../db/accounts.ts'
import { isUnavailable } from '../../db/sql-store.ts'
import type { AccountRow } from '../../model/ids.ts'
import { internalError, PROBLEMS, type Problem } from '../../model/problem.ts'
import { AdminKeyEnded, createAdminWrites } from '../admin/idempotency.ts'
import { authenticateAdmin, REFUSALS } from '../admin/serve-admin.ts'
import { receiveForm } from '../json-route.ts'
import { readQuery, SCIM_BASE } from '../paths.ts'
import type { RequestContext } from '../request-context.ts'
import { endAnswer, sendJson, writeHead } from '../respond.ts'

interface ScimRequest {
  readonly services: ScimServices
  /** Empty for the whole collection. */
  readonly id: string
  readonly query: QueryReader
  /** The parsed JSON of a POST, PUT or PATCH. */
  readonly body: unknown
}

type Handler = (request: ScimRequest) => Promise<ScimOutcome>

type Methods = Readonly<Record<string, Handler>>

interface Resource {
  readonly collection: Methods
  readonly one: Methods
}

export const SCIM_RESOURCES: ReadonlyMap<string, Resource> = new Map([
  [
    'users',
    {
      collection: {
        GET: ({ services, query }) => listUsers(services, query),
        POST: ({ services, body }) => createUser(services, body),
      },
      one: {
        GET: ({ services, id }) => showUser(services, id),
        PUT: ({ services, id, body }) => replaceUser(services, id, body),
        PATCH: ({ services, id, body }) => patchUser(services, id, body),
        DELETE: ({ services, id }) => deleteUser(services, id),
      },
    },
  ],
  [
    'groups',
    {
      collection: {
        GET: ({ services, query }) => listGroups(services, query),
        POST: ({ services, body }) => createGroup(services, body),
      },
      one: {
        GET: ({ services, id, query }) => showGroup(services, id, query),
        PUT: ({ services, id, body }) => replaceGroup(services, id, body),
        PATCH: ({ services, id, body }) => patchGroup(services, id, body),
        DELETE: ({ services, id }) => deleteGroup(services, id),
      },
    },
  ],
])

const BODIES = new Set(['POST', 'PUT', 'PATCH'])

/** Serves one request of a directory: SCIM 2.0, RFC 7644. */
export async function serveScim(context: RequestContext): Promise<void> {
  try {
    await serve(context)
  } catch (error) {
    if (error instanceof AdminKeyEnded) return sendRefusal(context, refuseScim(401, REFUSALS[error.reason]))
    if (isUnavailable(error))
      return sendRefusal(context, refuseScim(503, 'The database cannot be reached at the moment. Nothing was changed.'))
    context.log.error = error
    if (context.response.headersSent) throw error
    sendRefusal(context, refuseScim(500, internalError(context.requestId).message))
  }
}

async function serve(context: RequestContext): Promise<void> {
  const { request, edge } = context
  const authorized = await authorize(context)
  if (authorized.kind !== 'authorized') return
  const { account } = authorized
  const base = baseOf(context)
  const [name = '', id = '', ...more] = context.path.slice(SCIM_BASE.length + 1).split('/')
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
  const described = more.length === 0 ? describeService(name, decode(id), base) : undefined
  if (described !== undefined) {
    if (method === 'GET') return sendScim(context, 200, described)
    return sendRefusal(context, refuseScim(405, 'This can only be read, with GET.'))
  }
  const resource = more.length === 0 ? SCIM_RESOURCES.get(name.toLowerCase()) : undefined
  if (resource === undefined) return sendRefusal(context, refuseScim(404, 'There is nothing at this path.'))
  const methods = id === '' ? resource.collection : resource.one
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (handler === undefined) {
    const allow = Object.keys(methods).join(', ')
    return sendRefusal(context, refuseScim(405, `Use ${allow}.`), { allow })
  }
  context.log.endpoint = `${SCIM_BASE}/${name}${id === '' ? '' : '/:id'}`
  const sent = await readBody(context, BODIES.has(method))
  if (sent === 'disconnected') return
  if (sent.kind === 'refused') return sendRefusal(context, sent)
  // A body may take minutes to arrive, and the key may be revoked meanwhile. Its account never changes.
  const still = await authorize(context)
  if (still.kind !== 'authorized') return
  const { audit } = createAdminWrites(edge.admin, still.caller)
  const services: ScimServices = {
    ...{ ...edge.admin, account, base, roles: await rolesIn(edge, account) },
    ...{ people: { ...edge.admin.people, audit }, auditLog: actorLogOf(audit, actorOf(still.caller)) },
  }
  const handle = (given: ScimServices) =>
    handler({ services: given, id: decode(id), query: readQuery(request), body: sent.value })
  const outcome = await (method === 'GET' ? handle(services) : changeDirectory(services, handle))
  if (outcome.kind === 'refused') return sendRefusal(context, outcome)
  if (method === 'DELETE') return sendNothing(context)
  const location = (outcome.value as { meta?: { location?: string } }).meta?.location
  sendScim(context, method === 'POST' ? 201 : 200, outcome.value, method === 'POST' ? { location } : {})
}

/** An admin key with the scope scim, for its account. Anything else is answered here. */
async function authorize(context: RequestContext) {
  const authenticated = await authenticateAdmin(context)
  if (authenticated.kind === 'refused') {
    sendProblem(context, authenticated.problem)
    return { kind: 'answered' } as const
  }
  const { caller } = authenticated
  if (caller.account === undefined || !caller.scopes.includes('scim')) {
    const detail = 'This admin key is not for SCIM. Create one: millrace admin-keys create --scopes scim --account …'
    sendRefusal(context, refuseScim(403, detail))
    return { kind: 'answered' } as const
  }
  return { kind: 'authorized', caller, account: caller.account.row } as const
}

async function rolesIn({ admin }: RequestContext['edge'], row: AccountRow): Promise<ScimServices['roles']> {
  const all = admin.scimRoles()
  const account = all.length === 0 ? undefined : await findAccountByRow(admin.db, row)
  return all.filter((rule) => [account?.id, account?.email].includes(rule.account.trim().toLowerCase()))
}

type ReadBody = { readonly kind: 'read'; readonly value: unknown } | ScimRefused | 'disconnected'

async function readBody(context: RequestContext, isExpected: boolean): Promise<ReadBody> {
  const form = await receiveForm(context)
  if (form.kind === 'disconnected') {
    context.response.destroy()
    return 'disconnected'
  }
  if (form.kind === 'broken') return refuseScim(PROBLEMS[form.problem.code].status, form.problem.message)
  if (form.kind === 'too-large') return refuseScim(413, 'A request may have 128 KiB. Send members in several requests.')
  if (!isExpected) return { kind: 'read', value: undefined }
  const type = context.request.headers['content-type'] ?? ''
  if (!/^application\/(scim\+)?json\b/i.test(type))
    return refuseScim(415, 'Send the body as application/scim+json.', 'invalidSyntax')
  try {
    return { kind: 'read', value: JSON.parse(form.bytes.toString('utf8')) }
  } catch {
    return refuseScim(400, 'The body is not JSON.', 'invalidSyntax')
  }
}

/** As the directory sees it. */
function baseOf({ edge, request }: RequestContext): string {
  const origin = `${edge.isHttps(request) ? 'https' : 'http'}://${request.headers.host ?? 'localhost'}`
  return `${edge.about.publicUrl ?? origin}${SCIM_BASE}`
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const HEADERS = { 'content-type': 'application/scim+json', 'cache-control': 'no-store' }

const sendScim = (
  context: RequestContext,
  status: number,
  body: object,
  headers: Readonly<Record<string, string | undefined>> = {},
): void => sendJson(context, status, body, { ...HEADERS, ...headers })

function sendNothing(context: RequestContext): void {
  writeHead(context, 204, { 'cache-control': 'no-store' })
  endAnswer(context, '')
}

const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error'

/** RFC 7644, section 3.12: the status is text. */
function sendRefusal(
  context: RequestContext,
  { status, scimType, detail }: ScimRefused,
  headers: Readonly<Record<string, string | undefined>> = {},
): void {
  context.log.code = scimType ?? `scim_${status}`
  const body = { schemas: [ERROR_SCHEMA], status: String(status), ...(scimType !== undefined && { scimType }), detail }
  sendScim(context, status, body, headers)
}

function sendProblem(context: RequestContext, { code, message, headers, retryAfterSeconds }: Problem): void {
  const retry = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  sendRefusal(context, refuseScim(PROBLEMS[code].status, message), { ...headers, ...retry })
}

/** What this server offers of SCIM: RFC 7643, sections 5 to 7. */

const CONFIG_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'
const TYPE_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType'
const SCHEMA_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Schema'

const FILTER_RESULTS_MAX = 200

const config = (base: string) => ({
  schemas: [CONFIG_SCHEMA],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: FILTER_RESULTS_MAX },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    { type: 'oauthbearertoken', name: 'Admin key', description: 'An admin key with the scope scim.', primary: true },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
})

const resourceTypes = (base: string) =>
  (['User', 'Group'] as const).map((name) => ({
    schemas: [TYPE_SCHEMA],
    ...{ id: name, name, endpoint: `/${name}s`, schema: name === 'User' ? USER_SCHEMA : GROUP_SCHEMA },
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }))

interface Traits {
  readonly required?: boolean
  readonly mutability?: 'readOnly' | 'readWrite' | 'immutable'
  readonly uniqueness?: 'none' | 'server'
  readonly type?: 'string' | 'boolean' | 'complex'
  readonly multiValued?: boolean
  readonly subAttributes?: readonly object[]
}

const attribute = (name: string, description: string, traits: Traits = {}) => ({
  ...{ name, type: 'string', multiValued: false, description, required: false, caseExact: false },
  ...{ mutability: 'readWrite', returned: 'default', uniqueness: 'none' },
  ...traits,
})

const LIST = { type: 'complex', multiValued: true } as const
const READ_ONLY = { mutability: 'readOnly' } as const

const USER_ATTRIBUTES = [
  attribute('userName', 'The email with which the person signs in. It is final.', {
    ...{ required: true, uniqueness: 'server', mutability: 'immutable' },
  }),
  attribute('name', 'The parts of the name.', {
    type: 'complex',
    subAttributes: [attribute('givenName', 'The given name.'), attribute('familyName', 'The family name.')],
  }),
  attribute('displayName', 'The name to show.'),
  attribute('active', 'Whether the person may sign in. False ends their sessions and keys.', { type: 'boolean' }),
  attribute('emails', 'The userName.', {
    ...LIST,
    ...READ_ONLY,
    subAttributes: [attribute('value', 'The email.', READ_ONLY)],
  }),
  attribute('groups', 'The groups of the person.', {
    ...{ ...LIST, ...READ_ONLY },
    subAttributes: [
      attribute('value', 'The id of the group.', READ_ONLY),
      attribute('display', 'Its name.', READ_ONLY),
    ],
  }),
  attribute('roles', 'The role in the account.', {
    ...{ ...LIST, ...READ_ONLY },
    subAttributes: [attribute('value', 'The role.', READ_ONLY)],
  }),
]

const GROUP_ATTRIBUTES = [
  attribute('displayName', 'The name of the team, or of a group that gives a role.', {
    ...{ required: true, uniqueness: 'server' },
  }),
  attribute('members', 'The users of the group.', {
    ...LIST,
    subAttributes: [attribute('value', 'The id of a user.', { mutability: 'immutable' })],
  }),
]

const schemas = (base: string) =>
  [
    { id: USER_SCHEMA, name: 'User', description: 'A person of the account.', attributes: USER_ATTRIBUTES },
    {
      id: GROUP_SCHEMA,
      name: 'Group',
      description: 'A team of the account, or a role in it.',
      attributes: GROUP_ATTRIBUTES,
    },
  ].map((schema) => ({
    schemas: [SCHEMA_SCHEMA],
    ...schema,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${schema.id}` },
  }))

/** Undefined if there is no such description. */
function describeService(name: string, id: string, base: string): object | undefined {
  const kind = name.toLowerCase()
  if (kind === 'serviceproviderconfig') return id === '' ? config(base) : undefined
  const all = kind === 'resourcetypes' ? resourceTypes(base) : kind === 'schemas' ? schemas(base) : undefined
  if (all === undefined) return undefined
  if (id === '') return listOf(all, { total: all.length, startIndex: 1 })
  return all.find((each) => each.id === id)
}
