import { GROUP_SCHEMA } from '../../admin/scim-groups.ts'
import { listOf, USER_SCHEMA } from '../../admin/scim-users.ts'

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
export function describeService(name: string, id: string, base: string): object | undefined {
  const kind = name.toLowerCase()
  if (kind === 'serviceproviderconfig') return id === '' ? config(base) : undefined
  const all = kind === 'resourcetypes' ? resourceTypes(base) : kind === 'schemas' ? schemas(base) : undefined
  if (all === undefined) return undefined
  if (id === '') return listOf(all, { total: all.length, startIndex: 1 })
  return all.find((each) => each.id === id)
}
