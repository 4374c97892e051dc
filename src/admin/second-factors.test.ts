import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { readTotpSecret } from '../../test/support/read-totp-secret.ts'
import { totpCode, totpStepAt } from '../auth/totp.ts'
import { invitePerson, signUp } from './invitations.ts'
import { beginTotp, confirmTotp, removeFactors, removeTotp, renewRecoveryCodes, viewFactors } from './second-factors.ts'
import { listSessions, type SignedIn } from './sessions.ts'
import { changePassword, confirmPassword, signIn } from './sign-in.ts'

const EMAIL = 'ann@example.com'
const STEP_MS = 30_000

let people: TestPeople
let ann: SignedIn

beforeEach(async () => {
  people = await openTestPeople()
  ann = await people.make(EMAIL, 'owner')
})
afterEach(() => people.close())

/** Adds an authenticator app, and returns what a person has from then on. */
async function enrol() {
  const { secret } = given(await beginTotp(people.services, ann.session))
  const bytes = readTotpSecret(secret)
  const codeOf = (stepsLater = 0) => totpCode(bytes, totpStepAt(people.services.clock.now()) + stepsLater)
  const { codes } = given(await confirmTotp(people.services, ann.session, codeOf()))
  people.pass(STEP_MS)
  return { codeOf, recovery: codes! }
}

const enter = (code?: string, password = PASSWORD) =>
  signIn(people.services, { email: EMAIL, password, ...(code !== undefined && { code }) }, HERE)
const reasonOf = async (code?: string, password?: string) => {
  const outcome = await enter(code, password)
  return outcome.kind === 'refused' ? outcome.reason : outcome.value.session.means
}

describe('an authenticator app', () => {
  it('counts only once a code of it was given, and ten recovery codes come with it', async () => {
    const { secret, uri } = given(await beginTotp(people.services, ann.session))
    expect(uri).toBe(`otpauth://totp/Millrace:ann%40example.com?secret=${secret}&issuer=Millrace`)
    expect(await reasonOf()).toBe('password')
    expect(refusalOf(await confirmTotp(people.services, ann.session, '000000')).reason).toBe('wrong_code')
    expect((await viewFactors(people.services, ann.session.person.row)).totp).toBeNull()
    const { recovery } = await enrol()
    expect(new Set(recovery).size).toBe(10)
    expect(recovery[0]).toMatch(/^(?:[0-9A-Z]{4}-){3}[0-9A-Z]{4}$/)
    expect(refusalOf(await beginTotp(people.services, ann.session)).reason).toBe('factor_exists')
    const stored = JSON.stringify(
      await people.rows('SELECT hex(sealed) AS sealed, digest FROM totp_secrets, recovery_codes'),
    )
    for (const text of [...recovery, secret]) expect(stored).not.toContain(text)
  })

  it('is asked for beside the right password, and beside that alone', async () => {
    const { codeOf } = await enrol()
    expect(await reasonOf(undefined, 'not this one')).toBe('wrong_password')
    expect(await reasonOf(codeOf(), 'not this one')).toBe('wrong_password')
    expect(await reasonOf()).toBe('code_needed')
    expect(await reasonOf('000000')).toBe('wrong_code')
    expect(await reasonOf(codeOf())).toBe('code')
  })

  it('gives codes that work once, also for two sign-ins at once', async () => {
    const { codeOf } = await enrol()
    const code = codeOf()
    const outcomes = await Promise.all([reasonOf(code), reasonOf(code)])
    expect(outcomes.toSorted()).toEqual(['code', 'wrong_code'])
    expect(await reasonOf(code)).toBe('wrong_code')
    people.pass(STEP_MS)
    expect(await reasonOf(`${codeOf().slice(0, 3)} ${codeOf().slice(3)}`)).toBe('code')
  })

  it('stays locked for a guesser, and not for a recovery code', async () => {
    const { codeOf, recovery } = await enrol()
    const reasons: string[] = []
    for (let tried = 0; tried < 12; tried++) {
      people.services.tries.reset({ email: EMAIL, address: HERE.address, device: undefined })
      reasons.push(await reasonOf('000000'))
    }
    expect(reasons.slice(0, 9).every((reason) => reason === 'wrong_code')).toBe(true)
    expect(reasons.slice(10)).toEqual(['too_many_tries', 'too_many_tries'])
    people.services.tries.reset({ email: EMAIL, address: HERE.address, device: undefined })
    expect(await reasonOf(codeOf())).toBe('too_many_tries')
    expect(await reasonOf(recovery[0])).toBe('recovery_code')
    people.pass(3_600_000)
    expect(await reasonOf(codeOf())).toBe('code')
  })

  it('counts a wrong code as a wrong password', async () => {
    await enrol()
    const reasons: string[] = []
    for (let tried = 0; tried < 7; tried++) reasons.push(await reasonOf('000000'))
    expect(reasons.at(-1)).toBe('too_many_tries')
    expect((await people.rows(`SELECT detail FROM audit WHERE action = 'sign_in_refused'`)).length).toBeGreaterThan(4)
  })

  it('confirms a session, and a change of the password, only with a code', async () => {
    const { codeOf } = await enrol()
    const confirm = (code?: string) =>
      confirmPassword(people.services, ann.session, { password: PASSWORD, ...(code !== undefined && { code }) }, HERE)
    expect(refusalOf(await confirm()).reason).toBe('code_needed')
    expect((await confirm(codeOf())).kind).toBe('done')
    expect(refusalOf(await confirm(codeOf())).reason).toBe('wrong_code')
    people.pass(STEP_MS)
    const change = (code?: string) =>
      changePassword(people.services, ann.session, { current: PASSWORD, next: 'another long one', code }, HERE)
    expect(refusalOf(await change()).reason).toBe('code_needed')
    expect((await change(codeOf())).kind).toBe('done')
  })

  it('is not removed by a link to choose a password, which does not sign in either', async () => {
    const { codeOf } = await enrol()
    const { code } = given(
      await invitePerson(people.services, { role: 'owner', email: EMAIL, resets: true }, 'operator'),
    )
    const outcome = await signUp(people.services, { code, password: 'another long one' }, HERE)
    expect(outcome.kind).toBe('password-chosen')
    expect(await people.rows('SELECT id FROM sessions')).toEqual([])
    expect(await reasonOf(undefined, 'another long one')).toBe('code_needed')
    expect(await reasonOf(codeOf(), 'another long one')).toBe('code')
  })
})

describe('recovery codes', () => {
  it('work once each, in any spelling, and are replaced as a whole', async () => {
    const { recovery } = await enrol()
    expect(await reasonOf(recovery[0]!.toLowerCase().replaceAll('-', ' '))).toBe('recovery_code')
    expect(await reasonOf(recovery[0])).toBe('wrong_code')
    expect(await viewFactors(people.services, ann.session.person.row)).toMatchObject({ recovery_codes_left: 9 })
    const { codes } = given(await renewRecoveryCodes(people.services, ann.session))
    expect(await reasonOf(recovery[1])).toBe('wrong_code')
    expect(await reasonOf(codes[1])).toBe('recovery_code')
  })

  it('end with the last factor', async () => {
    const { recovery } = await enrol()
    expect(given(await removeTotp(people.services, ann.session))).toEqual({
      ...{ totp: null, recovery_codes_left: 0, passkeys: [] },
    })
    expect(refusalOf(await removeTotp(people.services, ann.session)).reason).toBe('factor_not_found')
    expect(refusalOf(await renewRecoveryCodes(people.services, ann.session)).reason).toBe('factor_not_found')
    expect(await reasonOf(recovery[0])).toBe('password')
  })
})

it('an operator removes the factors of a person, whose sessions end', async () => {
  await enrol()
  const removed = await removeFactors(
    { people: people.services, forgetAccount: () => {} },
    { person: EMAIL },
    'boss@example.com',
  )
  expect(given(removed)).toMatchObject({ email: EMAIL, authenticator_app: true, passkeys: 0 })
  expect(await people.services.sessions.find(ann.secret)).toBeUndefined()
  expect(await people.rows('SELECT COUNT(*) AS left FROM recovery_codes')).toEqual([{ left: 0 }])
  expect(await reasonOf()).toBe('password')
  expect(await people.rows(`SELECT actor, detail FROM audit WHERE action = 'factor_removed'`)).toEqual([
    { actor: 'boss@example.com', detail: 'ann@example.com: the authenticator app' },
  ])
})

it('the list of sessions says how each signed in', async () => {
  const { codeOf } = await enrol()
  await reasonOf(codeOf())
  const { items } = given(await listSessions(people.services, ann.session))
  expect(items.map(({ means }) => means)).toEqual(['code', 'link'])
})
