import { z } from 'zod'
import { isLoopbackName } from '../lib/network.ts'
import { choice, flag, list, optionalText, read, scalar, section, text, wrong } from './scalars.ts'

const EXPECTED_ISSUER = 'the address of an issuer, such as https://login.example.com'

export const issuer = scalar<string>(
  'Its issuer, as its discovery document spells it: the part before /.well-known/openid-configuration.',
  { type: 'string', examples: ['https://example.okta.com'] },
  (value) => {
    if (typeof value !== 'string' || value.length > 2048 || !URL.canParse(value)) return wrong(EXPECTED_ISSUER)
    const url = new URL(value)
    if (url.username || url.password) return wrong(EXPECTED_ISSUER, 'Move the credential to client_secret.')
    if (url.search || url.hash) return wrong(EXPECTED_ISSUER, 'Remove everything from ? or # on.')
    if (url.pathname.includes('/.well-known/'))
      return wrong(EXPECTED_ISSUER, 'Leave out /.well-known and what follows it.')
    if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackName(url.hostname))) return read(value)
    return wrong(`${EXPECTED_ISSUER}: only an issuer on this machine may use http`, 'Use https.')
  },
)

/** Group names of directories contain spaces, slashes and colons. */
const group = () => text('The group, as the claim or the directory spells it.', { charactersMax: 255 })
const account = () =>
  optionalText('Account in which they get the role: its id or email.', (value) =>
    value.length <= 320 ? read(value) : wrong('the id or the email of an account'),
  ).prefault(null)

const ACCOUNT_ROLES = ['owner', 'admin', 'member', 'viewer'] as const
const ROLES = [...ACCOUNT_ROLES, 'operator'] as const

const roleRule = section('A group and the role of its people.', {
  group: group(),
  account: account(),
  role: choice('The role.', ROLES),
}).superRefine((rule, context) => {
  if (rule.role !== 'operator' && rule.account === undefined) {
    const message = `a person with the role ${rule.role} belongs to an account`
    const params = { cure: 'Add account: its id or email.', whole: true }
    context.addIssue({ code: 'custom', path: ['account'], message, params })
  }
})

const scimRule = section('A group of the directory that gives a role instead of being a team.', {
  group: group(),
  account: text('Account in which it gives the role: its id or email.', { charactersMax: 320 }),
  role: choice('The role.', ACCOUNT_ROLES),
})

const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

const oidcProvider = section('An OpenID Connect provider.', {
  name: text('Its name in addresses: the redirect URI is <public_url>/console/sso/<name>/callback.', {
    pattern: /^[a-z0-9][a-z0-9-]*$/,
    expected: 'a name of small letters, digits and dashes',
    charactersMax: 40,
  }),
  label: optionalText('What the button of the sign-in page says; left out: the name.', (value) =>
    value.length <= 60 ? read(value) : wrong('a text of at most 60 characters'),
  ).prefault(null),
  issuer,
  client_id: text('The client id that the provider has given this server.', { charactersMax: 512 }),
  client_secret: optionalText(
    `The client secret, preferably as \${NAME} or \${file:/path}; left out for a public client.`,
    (value) =>
      /^[\x21-\x7e]{1,1024}$/.test(value)
        ? read(value)
        : wrong('a credential without spaces and line breaks', 'Remove the extra characters.'),
  ).prefault(null),
  scopes: z
    .array(
      text('A scope.', {
        pattern: /^[\x21\x23-\x5b\x5d-\x7e]+$/,
        expected: 'a scope without spaces',
        charactersMax: 200,
      }),
    )
    .meta({ description: 'Scopes beside openid.' })
    .prefault(['email', 'profile']),
  groups_claim: text('The claim with the groups of a person.', { charactersMax: 200 }).prefault('groups'),
  roles: list('Groups and the roles that they give. The first one that fits counts.', roleRule),
  create_people: flag('Create a person who signs in for the first time and has a role by a group.').prefault(false),
  link_by_email: flag(
    'At the first sign-in, take the person with the same verified email. A person who controls emails at the provider can become that person.',
  ).prefault(false),
  trust_email: flag(
    'Accept emails that the provider does not call verified. Only for a provider where people cannot choose their email.',
  ).prefault(false),
  email_domains: list(
    'Domains of emails that may sign in; none: all.',
    scalar('A domain.', { type: 'string', examples: ['example.com'] }, (value) =>
      typeof value === 'string' && value.length <= 253 && DOMAIN.test(value.toLowerCase())
        ? read(value.toLowerCase())
        : wrong('a domain such as example.com'),
    ),
  ),
  second_factor: choice(
    'Whether a sign-in there counts as one with a second factor. by_claim: if the ID token has amr with mfa, or an acr of strong_acr.',
    ['by_claim', 'always', 'never'],
  ).prefault('by_claim'),
  strong_acr: list(
    'Values of the claim acr that say that the provider has asked for a second factor.',
    text('A value.', { charactersMax: 255 }),
  ),
  disable_removed: flag('Disable a person whose groups give no role any more when they sign in.').prefault(false),
}).superRefine((provider, context) => {
  if (provider.create_people && provider.roles.length === 0) {
    const params = { cure: 'Add roles, or remove create_people.', whole: true }
    context.addIssue({ code: 'custom', path: ['create_people'], message: 'people need a role from roles', params })
  }
})

export const signInSchema = section('How people sign in to the console.', {
  password: choice(
    'Who may sign in with a password. operators_only: all others use single sign-on; a link of millrace people invite still works once.',
    ['everyone', 'operators_only'],
  ).prefault('everyone'),
  second_factor: choice(
    'Whom the server requires to give a second factor, also where their account does not. A person without one has to add one before anything else.',
    ['optional', 'operators', 'everyone'],
  ).prefault('optional'),
  oidc: z
    .array(oidcProvider)
    .max(20, 'at most 20 providers')
    .superRefine((providers, context) => {
      for (const [index, { name }] of providers.entries()) {
        if (providers.findIndex((other) => other.name === name) === index) continue
        const params = { cure: 'Give each provider a name of its own.', whole: true }
        context.addIssue({ code: 'custom', path: [index, 'name'], message: 'this name is taken', params })
      }
    })
    .meta({ description: 'Providers for single sign-on.' })
    .prefault([]),
  scim: section('Users and groups that a directory manages over SCIM.', {
    roles: list('Groups that give a role. All other groups are teams of their name.', scimRule),
  }).prefault({}),
})
