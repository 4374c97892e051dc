import { checksumOf } from '../../../src/auth/secrets.ts'
import { totpCode, totpStepAt } from '../../../src/auth/totp.ts'
import { ADMIN_SCOPES, type AdminScope } from '../../../src/contract/admin-keys.ts'
import type { Role } from '../../../src/db/people-tables.ts'
import type { TestIssuer } from '../../fakes/oidc-issuer.ts'
import { createAdminKey } from '../../support/admin-api.ts'
import { type ConsolePerson, openBrowser, PASSWORD, signUp } from '../../support/console-session.ts'
import { exchange, jobToken } from '../../support/job-keys.ts'
import { readTotpSecret } from '../../support/read-totp-secret.ts'
import type { TestServer } from '../../support/start-server.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import type { ApiRights, Rights, SessionRights } from './rules.ts'

type Headers = Readonly<Record<string, string | undefined>>

export interface Caller extends Rights {
  readonly name: string
  /** Of a request that changes something, or of one that reads. */
  headers(changes: boolean): Headers
}

/** Those by whom things are made for the matrix. */
export interface Cast {
  readonly ours: TestAccount
  readonly other: TestAccount
  readonly owner: ConsolePerson
  readonly operator: ConsolePerson
  readonly callers: readonly Caller[]
}

interface Jobs {
  readonly issuer: TestIssuer
  /** The configuration with the key of a rule, which exists only once the server runs. */
  readonly configFor: (jobsKey: string) => string
}

const HOUR = 3_600_000
export const ALLOWED_ADDRESS = '203.0.113.7'

const MISSING = '401 missing_api_key'
const INVALID = '401 invalid_api_key'

/** A header, and what it is at each surface. Where nothing is said, it is refused as what is no key there. */
function caller(name: string, headers: Headers, rights: Partial<Rights> = {}): Caller {
  const refusal = headers.authorization === undefined ? MISSING : INVALID
  return { name, api: refusal, admin: refusal, page: 'none', ...rights, headers: () => headers }
}

const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })
const withKey = (name: string, key: string, api: ApiRights | string = INVALID): Caller =>
  caller(name, bearer(key), { api })

/** As a browser sends it: the origin with every change, and that of another site with everything. */
function inBrowser(name: string, person: ConsolePerson, session?: SessionRights, more: Partial<Caller> = {}): Caller {
  const page = more.page ?? 'console'
  return {
    ...{ name, api: MISSING, admin: MISSING, page },
    ...(session !== undefined && { session }),
    ...more,
    headers: (changes) => ({
      cookie: person.cookie,
      'x-csrf-token': person.csrf,
      ...(changes && { 'sec-fetch-site': 'same-origin', origin: `http://127.0.0.1:${portOf(person)}` }),
      ...more.headers?.(changes),
    }),
  }
}

const ports = new WeakMap<ConsolePerson, number>()
const portOf = (person: ConsolePerson): number => ports.get(person) ?? 0

const OURS: ApiRights = { account: 'ours', reads: 'all' }
const OTHER: ApiRights = { account: 'other', reads: 'all' }

/** Every kind of caller of the server: those whose right has ended first, because time passes for them. */
export async function castCallers(server: TestServer, jobs: Jobs): Promise<Cast> {
  const ours = await openAccount(server)
  const other = await openAccount(server)
  const { operate } = server
  await operate('plans.assign', { account: ours.id, plan: 'wide' })
  const enter = async (email: string, role: Role, account?: string): Promise<ConsolePerson> => {
    const person = await signUp(server, { email, role, ...(account !== undefined && { account }) })
    ports.set(person, server.port)
    return person
  }

  const idle = await enter('canary-idle@example.com', 'owner', ours.id)
  const expiredKey = await ours.createKey({ expires: '1h' })
  const rotated = await ours.createKey()
  await operate('keys.rotate', { key: rotated.id, grace: '1h' })
  const expiredAdmin = await createAdminKey(server, ['admin'], '1h')
  server.advance(13 * HOUR)
  const stale = await enter('canary-stale@example.com', 'owner', ours.id)
  server.advance(HOUR / 2)

  const owner = await enter('canary-owner@example.com', 'owner', ours.id)
  const member = await enter('canary-member@example.com', 'member', ours.id)
  const third = await openAccount(server)
  const operator = await enter('operator@example.com', 'operator', third.id)
  const people = { idle, stale, owner, member, operator }
  return {
    ...{ ours, other, owner, operator },
    callers: [
      ...strangers(ours),
      ...(await keysOf(server, { ours, other, expired: expiredKey.key, rotated: rotated.key, member })),
      withKey('the key of a CI job', await jobKey(server, jobs, ours), OURS),
      ...(await adminKeys(server, { ours, other, expired: expiredAdmin.secret })),
      ...(await sessions(server, enter, { ours, other, people })),
    ],
  }
}

function strangers({ key }: TestAccount): Caller[] {
  const body = `mr_wallet_${'A'.repeat(43)}`
  const admin = `mra_${'A'.repeat(43)}`
  return [
    caller('no credential', {}),
    caller('a token of no known form', bearer('garbage')),
    caller('a header of another scheme', { authorization: `Basic ${Buffer.from(`user:${key}`).toString('base64')}` }),
    caller('a header with two keys', { authorization: `Bearer ${key} ${key}` }),
    caller('a key without its scheme', { authorization: key }),
    caller('a key in the header of another vendor', { 'x-api-key': key }),
    caller('a mistyped key', bearer(`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`)),
    caller('a key that does not exist', bearer(body + checksumOf(body))),
    caller('an admin key that does not exist', bearer(admin + checksumOf(admin))),
    caller(
      'a job key that does not exist',
      bearer(`mr_job_${'A'.repeat(43)}${checksumOf(`mr_job_${'A'.repeat(43)}`)}`),
    ),
  ]
}

interface KeysOf {
  readonly ours: TestAccount
  readonly other: TestAccount
  readonly expired: string
  readonly rotated: string
  readonly member: ConsolePerson
}

async function keysOf(server: TestServer, { ours, other, expired, rotated, member }: KeysOf): Promise<Caller[]> {
  const { operate } = server
  const revoked = await ours.createKey()
  await operate('keys.revoke', { key: revoked.id })
  const disabled = await ours.createKey()
  await operate('keys.disable', { key: disabled.id })
  const suspended = await openAccount(server)
  await operate('accounts.suspend', { account: suspended.id })
  const gone = await signUp(server, { email: 'canary-gone@example.com', role: 'member', account: ours.id })
  const ofGone = await gone.call('POST /keys', { body: { name: 'canary-of-gone', kind: 'wallet' } })
  await operate('people.disable', { person: gone.email })
  const ofMember = await member.call('POST /keys', { body: { name: 'of a member', kind: 'wallet' } })
  const listed = await ours.createKey({ addresses: [ALLOWED_ADDRESS] })
  const builder = await ours.createKey({ kind: 'builder' })
  const inRuns = await ours.createKey({ run: 'required' })
  return [
    withKey('an expired key', expired),
    withKey('the secret of a rotated key after its grace', rotated),
    withKey('a revoked key', revoked.key),
    withKey('a disabled key', disabled.key),
    withKey('a key of a disabled person', ofGone.secret),
    withKey('a key of a suspended account', suspended.key, '403 account_suspended'),
    withKey('a key at an address that it does not allow', listed.key, '403 key_address_not_allowed'),
    { ...withKey('a key at its address', listed.key, OURS), headers: () => atAllowedAddress(listed.key) },
    withKey('a wallet key', ours.key, OURS),
    withKey('a Builder key', builder.key, OURS),
    withKey('a key that requires a run', inRuns.key, { ...OURS, needsRun: true }),
    withKey('a key of a member', ofMember.secret, { ...OURS, reads: 'own' }),
    withKey('a key of another account', other.key, OTHER),
    caller(
      'a key in a page of another site',
      { ...bearer(ours.key), origin: 'https://evil.example' },
      { api: OURS, page: 'other site' },
    ),
  ]
}

const atAllowedAddress = (key: string): Headers => ({ ...bearer(key), 'x-forwarded-for': ALLOWED_ADDRESS })

async function jobKey(server: TestServer, { issuer, configFor }: Jobs, ours: TestAccount): Promise<string> {
  const { id } = await ours.createKey({ name: 'jobs' })
  await server.reload(configFor(id))
  const { status, json } = await exchange(server, jobToken(server, issuer))
  if (status !== 200) throw new Error(`the job got no key: ${JSON.stringify(json)}`)
  return json.access_token
}

interface AdminKeysOf {
  readonly ours: TestAccount
  readonly other: TestAccount
  readonly expired: string
}

async function adminKeys(server: TestServer, { ours, other, expired }: AdminKeysOf): Promise<Caller[]> {
  const { operate } = server
  const revoked = await createAdminKey(server, ['admin'])
  await operate('admin-keys.revoke', { key: revoked.id })
  const scim = async (directory: 'ours' | 'other', account: string): Promise<Caller> => {
    const order = { name: `directory of ${directory}`, scopes: ['scim'] as ['scim'], account }
    const { secret } = await operate('admin-keys.create', order)
    return caller(`a SCIM token of ${directory === 'ours' ? 'the account' : 'another account'}`, bearer(secret), {
      ...{ admin: ['scim'], directory },
    })
  }
  const scoped = async (scope: AdminScope): Promise<Caller> =>
    caller(`an admin key with ${scope}`, bearer((await createAdminKey(server, [scope])).secret), { admin: [scope] })
  const whole = await createAdminKey(server, ['admin'])
  const listed: Caller[] = []
  for (const scope of ADMIN_SCOPES.filter((each) => each !== 'scim')) listed.push(await scoped(scope))
  return [
    caller('an expired admin key', bearer(expired)),
    caller('a revoked admin key', bearer(revoked.secret)),
    ...listed,
    await scim('ours', ours.id),
    await scim('other', other.id),
    caller(
      'an admin key in a page of another site',
      { ...bearer(whole.secret), origin: 'https://evil.example' },
      { admin: ['admin'], page: 'other site' },
    ),
  ]
}

interface SessionsOf {
  readonly ours: TestAccount
  readonly other: TestAccount
  readonly people: Readonly<Record<'idle' | 'stale' | 'owner' | 'member' | 'operator', ConsolePerson>>
}

type Enter = (email: string, role: Role, account?: string) => Promise<ConsolePerson>

async function sessions(server: TestServer, enter: Enter, { ours, other, people }: SessionsOf): Promise<Caller[]> {
  const { operate } = server
  const admin = await enter('canary-admin@example.com', 'admin', ours.id)
  const viewer = await enter('canary-viewer@example.com', 'viewer', ours.id)
  const stranger = await enter('stranger@example.com', 'owner', other.id)
  const second = await enter('canary-second@example.com', 'owner', ours.id)
  const ended = await enter('canary-ended@example.com', 'owner', ours.id)
  const endedCookie = ended.cookie
  await ended.call('DELETE /session')
  ended.cookie = endedCookie
  const disabled = await enter('canary-disabled@example.com', 'owner', ours.id)
  await operate('people.disable', { person: disabled.email })
  const frozen = await openAccount(server)
  const suspended = await enter('suspended@example.com', 'owner', frozen.id)
  await operate('accounts.suspend', { account: frozen.id })
  const ofOurs = { account: 'ours' } as const
  const foreign = (origin: string, site: string) => () => ({ origin, 'sec-fetch-site': site })
  return [
    inBrowser('an owner', people.owner, { role: 'owner', ...ofOurs, isMaker: true }),
    inBrowser('an admin', admin, { role: 'admin', ...ofOurs }),
    inBrowser('a member', people.member, { role: 'member', ...ofOurs }),
    inBrowser('a viewer', viewer, { role: 'viewer', ...ofOurs }),
    inBrowser('an owner of another account', stranger, { role: 'owner', account: 'other' }),
    inBrowser('an operator with an account', people.operator, { role: 'operator', account: 'other' }),
    inBrowser('an operator without one', await enter('chief@example.com', 'operator'), { role: 'operator' }),
    inBrowser('an owner of a suspended account', suspended, { role: 'owner', account: 'other', isSuspended: true }),
    inBrowser('an owner whose password was given long ago', people.stale, { role: 'owner', ...ofOurs, isStale: true }),
    ...(await withoutFactor(server, enter)),
    inBrowser(
      'an owner without the token of the page',
      second,
      { role: 'owner', ...ofOurs, hasNoToken: true },
      { headers: () => ({ 'x-csrf-token': undefined }) },
    ),
    inBrowser(
      'an owner with the token of another session',
      second,
      { role: 'owner', ...ofOurs, hasNoToken: true },
      { headers: () => ({ 'x-csrf-token': stranger.csrf }) },
    ),
    inBrowser(
      'an owner in a page of another site',
      second,
      { role: 'owner', ...ofOurs },
      { page: 'other site', headers: foreign('https://evil.example', 'cross-site') },
    ),
    inBrowser(
      'an owner in a page of a sibling site',
      second,
      { role: 'owner', ...ofOurs },
      { page: 'other site', headers: foreign('https://sibling.example', 'same-site') },
    ),
    inBrowser('a session that was ended', ended),
    inBrowser('a session that was idle for too long', people.idle),
    inBrowser('a session of a disabled person', disabled),
    ...notSessions(server, ours),
  ]
}

/** Two people of an account that requires a second factor: one has none, and one has not given it. */
async function withoutFactor(server: TestServer, enter: Enter): Promise<Caller[]> {
  const strict = await openAccount(server)
  const enrol = await enter('enrol@example.com', 'owner', strict.id)
  const given = await enter('given@example.com', 'owner', strict.id)
  const give = openBrowser(server, given.email)
  await give.call('POST /session', { body: { email: given.email, password: PASSWORD } })
  ports.set(give, server.port)
  const secret = readTotpSecret((await given.call('POST /factors/totp')).secret)
  const code = totpCode(secret, totpStepAt(server.app.operations.clock.now()))
  await given.call('POST /factors/totp/confirm', { body: { code } })
  await given.call('PUT /second-factor', { body: { required: true } })
  const session = { role: 'owner', account: 'other' } as const
  return [
    inBrowser('an owner who has to add a second factor', enrol, { ...session, factor: 'enrol' }),
    inBrowser('an owner who has to give the second factor', give, { ...session, factor: 'give' }),
  ]
}

/** No key opens the console, in whichever place it is sent. */
function notSessions(server: TestServer, { key }: TestAccount): Caller[] {
  const withCookie = (value: string): ConsolePerson => {
    const person = openBrowser(server)
    person.cookie = `millrace_session=${value}`
    person.csrf = 'forged'
    ports.set(person, server.port)
    return person
  }
  return [
    inBrowser('a forged session', withCookie(`mr_session_${'A'.repeat(43)}`)),
    inBrowser('an API key as a session', withCookie(key)),
  ]
}
