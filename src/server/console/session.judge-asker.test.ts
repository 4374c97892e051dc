import { describe, expect, it } from 'vitest'
import type { Session } from '../../admin/sessions.ts'
import type { Requester } from '../../contract/values.ts'
import type { Role } from '../../db/people-tables.ts'
import type { AccountId, AccountRow, PersonId, SessionId } from '../../model/ids.ts'
import type { ConsoleRequest } from './handler.ts'
import { type Access, authorizeRequester, CONFIRMED_MS, csrfTokenOf } from './session.ts'

const NOW = 1_760_000_000_000
const SECRET = 'the secret of a session'

interface FundingRequest {
  readonly role?: Role
  readonly status?: 'active' | 'suspended' | 'closed' | 'none'
  readonly confirmedAt?: number
  readonly secondFactor?: Session['secondFactor']
  readonly request?: Partial<ConsoleRequest>
}

function sessionOf({
  role = 'owner',
  status = 'active',
  confirmedAt = NOW,
  secondFactor = null,
}: FundingRequest): Session {
  const account = { id: 'acct_1' as AccountId, row: 7 as AccountRow, email: 'ann@example.com' }
  return {
    ...{ id: 'sess_1' as SessionId, row: 3, createdAt: NOW, seenAt: NOW, expiresAt: NOW + 1, confirmedAt },
    ...{ means: 'password', factors: { code: false, passkey: false } },
    ...{ isStrong: false, accountNeedsFactor: false, secondFactor },
    person: { id: 'person_1' as PersonId, row: 5, email: 'ann@example.com', role },
    account: status === 'none' ? undefined : { ...account, status },
  }
}

/** The outcome of a request from a page of its own session. */
const authorized = (...asked: Parameters<typeof judged>) => {
  const judgement = judged(...asked)
  return judgement.kind === 'authorized' ? 'may' : judgement.code
}

type Asked<Who extends Requester> = Pick<Access<Who>, 'who'> & Partial<Access<Who>>

function judged<Who extends Requester>(asked: Asked<Who>, change: FundingRequest = {}) {
  const request: ConsoleRequest = {
    ...{ requestId: 'req_1', address: '192.0.2.1', agent: 'a browser', changes: false, log: {} },
    site: { origin: 'https://mill.example', isSecure: true, isPrivate: true },
    csrfToken: csrfTokenOf(SECRET),
    deviceTokens: undefined,
    signedIn: { secret: SECRET, session: sessionOf(change) },
    ...change.request,
  }
  return authorizeRequester<Who>(request, { confirmed: false, ...asked }, NOW)
}

const CHANGES = { request: { changes: true } }
const STRANGER = { request: { signedIn: undefined } }

describe('authorization of console requests', () => {
  it('requires anyone, a signed-in person, an owner or an operator, as the route says', () => {
    expect(authorized({ who: 'anyone' }, STRANGER)).toBe('may')
    for (const who of ['signed-in', 'owner', 'operator'] as const)
      expect(authorized({ who }, STRANGER)).toBe('session_ended')
    expect(authorized({ who: 'signed-in' })).toBe('may')
    expect(authorized({ who: 'owner' })).toBe('may')
    expect(authorized({ who: 'operator' })).toBe('operators_only')
    expect(authorized({ who: 'operator' }, { role: 'operator', status: 'none' })).toBe('may')
    expect(authorized({ who: 'owner' }, { role: 'operator', status: 'none' })).toBe('no_account')
  })

  it('requires a role in the account, and counts an operator as its owner', () => {
    const allowed = (who: Requester) =>
      (['viewer', 'member', 'admin', 'owner', 'operator'] as const).filter(
        (role) => authorized({ who }, { role }) === 'may',
      )
    expect(allowed('any-role')).toEqual(['viewer', 'member', 'admin', 'owner', 'operator'])
    expect(allowed('viewer')).toEqual(['viewer', 'admin', 'owner', 'operator'])
    expect(allowed('member')).toEqual(['member', 'admin', 'owner', 'operator'])
    expect(allowed('admin')).toEqual(['admin', 'owner', 'operator'])
    expect(allowed('owner')).toEqual(['owner', 'operator'])
    expect(authorized({ who: 'owner', confirmed: true }, { role: 'viewer', confirmedAt: 0 })).toBe('role_too_low')
  })

  it('limits a member to their own keys', () => {
    const scopeOf = (role: Role) => {
      const judgement = judged({ who: 'any-role' }, { role })
      return judgement.kind === 'authorized' ? judgement.request.scope : undefined
    }
    expect(scopeOf('member')).toEqual({ account: 7, person: 5 })
    for (const role of ['viewer', 'admin', 'owner', 'operator'] as const)
      expect(scopeOf(role)).toEqual({ account: 7, person: undefined })
  })

  it('requires a recent password confirmation for changes of keys and money', () => {
    const asked = { who: 'owner', confirmed: true } as const
    expect(authorized(asked, { confirmedAt: NOW - CONFIRMED_MS + 1 })).toBe('may')
    expect(authorized(asked, { confirmedAt: NOW - CONFIRMED_MS })).toBe('confirm_password')
    expect(authorized({ who: 'owner' }, { confirmedAt: 0 })).toBe('may')
  })

  it('is not an account that is suspended or closed, where something changes; what it has it may see', () => {
    for (const [status, code] of [
      ['suspended', 'account_suspended'],
      ['closed', 'account_closed'],
    ] as const) {
      expect(authorized({ who: 'owner' }, { status })).toBe('may')
      expect(authorized({ who: 'owner' }, { status, ...CHANGES })).toBe(code)
      expect(authorized({ who: 'signed-in' }, { status, ...CHANGES })).toBe('may')
    }
  })

  it('is a page of the very session, where something changes', () => {
    for (const csrfToken of [undefined, '', csrfTokenOf('another secret')]) {
      expect(authorized({ who: 'signed-in' }, { request: { changes: true, csrfToken } })).toBe('other_site')
      expect(authorized({ who: 'signed-in' }, { request: { csrfToken } })).toBe('may')
    }
  })

  it('refuses passwords over unencrypted connections', () => {
    const site = { origin: 'http://mill.example', isSecure: false, isPrivate: false }
    for (const who of ['anyone', 'signed-in', 'owner', 'operator'] as const) {
      expect(authorized({ who }, { role: 'operator', request: { changes: true, site } })).toBe('https_needed')
      expect(authorized({ who }, { role: 'operator', request: { site } })).toBe('may')
    }
  })
})
