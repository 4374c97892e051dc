import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { SoftwareAuthenticator } from '../../test/support/software-authenticator.ts'
import {
  challengeToConfirm,
  challengeToRegister,
  challengeToSignIn,
  confirmByPasskey,
  registerPasskey,
  removePasskey,
  renamePasskey,
  signInByPasskey,
} from './passkeys.ts'
import { disablePerson } from './people.ts'
import { viewFactors } from './second-factors.ts'
import type { SignedIn } from './sessions.ts'
import { confirmPassword, signIn } from './sign-in.ts'

const EMAIL = 'ann@example.com'
const SITE = { origin: 'https://llm.example.com' }

let people: TestPeople
let ann: SignedIn
let device: SoftwareAuthenticator

beforeEach(async () => {
  people = await openTestPeople()
  ann = await people.make(EMAIL, 'owner')
  device = new SoftwareAuthenticator(SITE.origin)
})
afterEach(() => people.close())

type Faults = Parameters<SoftwareAuthenticator['sign']>[1]

async function register(name = 'laptop', { on = device, faults = {} as Faults, by = ann, site = SITE } = {}) {
  const challenge = given(await challengeToRegister(people.services, by.session, SITE))
  return registerPasskey(people.services, by.session, site, { name, ...on.register(challenge, faults) })
}

const answer = (faults?: Faults) => device.sign(given(challengeToSignIn(people.services, SITE)), faults)
const enter = (sent: ReturnType<SoftwareAuthenticator['sign']>, site = SITE) =>
  signInByPasskey(people.services, site, sent, HERE)
const meansOf = async (sent = answer(), site = SITE) => {
  const outcome = await enter(sent, site)
  return outcome.kind === 'refused' ? outcome.reason : outcome.value.session.means
}

describe('a passkey', () => {
  it('signs in its person alone, and the password does not any more', async () => {
    const { codes, factors } = given(await register())
    expect(codes).toHaveLength(10)
    expect(factors.passkeys).toMatchObject([{ name: 'laptop', last_used_at: null }])
    const { session } = given(await enter(answer()))
    expect(session).toMatchObject({
      means: 'passkey',
      person: { email: EMAIL },
      factors: { passkey: true, code: false },
    })
    expect((await viewFactors(people.services, session.person.row)).passkeys[0]?.last_used_at).not.toBeNull()
    const byPassword = (code?: string) =>
      signIn(people.services, { email: EMAIL, password: PASSWORD, ...(code !== undefined && { code }) }, HERE)
    expect(refusalOf(await byPassword()).reason).toBe('code_needed')
    expect(refusalOf(await byPassword('000000')).reason).toBe('wrong_code')
    expect(given(await byPassword(codes![3])).session.means).toBe('recovery_code')
  })

  it('answers a challenge once, within five minutes, and only one of this server', async () => {
    given(await register())
    const sent = answer()
    expect((await Promise.all([meansOf(sent), meansOf(sent)])).toSorted()).toEqual(['passkey', 'passkey_refused'])
    expect(await meansOf(sent)).toBe('passkey_refused')
    const late = answer()
    people.pass(5 * 60_000)
    expect(await meansOf(late)).toBe('passkey_refused')
    const invented = Buffer.alloc(54, 1).toString('base64url')
    expect(await meansOf(device.sign({ challenge: invented, rp_id: 'llm.example.com' }))).toBe('passkey_refused')
    const toConfirm = given(await challengeToConfirm(people.services, ann.session, SITE))
    expect(await meansOf(device.sign(toConfirm))).toBe('passkey_refused')
    expect(await meansOf()).toBe('passkey')
  })

  it.each<[string, NonNullable<Faults>]>([
    ['of another page', { origin: 'https://llm.example.org' }],
    ['for another name', { rpId: 'example.org' }],
    ['without a verified person', { isVerified: false }],
    ['of another kind', { type: 'webauthn.create' }],
  ])('is refused %s', async (_, faults) => {
    given(await register())
    expect(await meansOf(answer(faults))).toBe('passkey_refused')
    expect(
      refusalOf(
        await register('phone', {
          on: new SoftwareAuthenticator(SITE.origin),
          faults: { ...faults, type: faults.type ? 'webauthn.get' : undefined } as Faults,
        }),
      ).reason,
    ).toBe('passkey_refused')
  })

  it('is refused with a changed signature, as another person, or from another device', async () => {
    given(await register())
    const sent = answer()
    expect(await meansOf({ ...sent, signature: `AAAA${sent.signature.slice(4)}` })).toBe('passkey_refused')
    expect(await meansOf({ ...answer(), user_handle: null })).toBe('passkey_refused')
    expect(await meansOf({ ...answer(), user_handle: Buffer.from('usr_other').toString('base64url') })).toBe(
      'passkey_refused',
    )
    const other = new SoftwareAuthenticator(SITE.origin)
    other.register(given(await challengeToRegister(people.services, ann.session, SITE)))
    expect(await meansOf(other.sign(given(challengeToSignIn(people.services, SITE))))).toBe('passkey_refused')
  })

  it('whose counter goes back is refused and recorded', async () => {
    device.counter = 7
    given(await register())
    device.counter = 8
    expect(await meansOf()).toBe('passkey')
    for (const counter of [8, 7, 0]) {
      device.counter = counter
      expect(await meansOf()).toBe('passkey_refused')
    }
    expect(await people.rows(`SELECT actor, detail FROM audit WHERE action = 'passkey_refused'`)).toEqual(
      Array(3).fill({ actor: EMAIL, detail: 'passkey laptop: its counter went back, so there may be a copy of it' }),
    )
    device.counter = 9
    expect(await meansOf()).toBe('passkey')
  })

  it('of a disabled person does not sign in', async () => {
    given(await register())
    given(await disablePerson({ people: people.services, forgetAccount: () => {} }, { person: EMAIL }, 'operator'))
    expect(await meansOf()).toBe('passkey_refused')
  })

  it('confirms the session of its person, and no other', async () => {
    given(await register())
    const ben = await people.make('ben@example.com', 'owner')
    people.pass(3_600_000)
    const confirm = async (by: SignedIn, challengeOf = by) => {
      const challenge = given(await challengeToConfirm(people.services, challengeOf.session, SITE))
      const outcome = await confirmByPasskey(people.services, by.session, SITE, device.sign(challenge))
      return outcome.kind
    }
    expect(await confirm(ben)).toBe('refused')
    expect(await confirm(ann, ben)).toBe('refused')
    expect(await confirm(ann)).toBe('done')
    expect((await people.services.sessions.find(ann.secret))?.confirmedAt).toBe(people.services.clock.now())
    expect((await confirmPassword(people.services, ann.session, { password: PASSWORD }, HERE)).kind).toBe('done')
  })
})

describe('the list of passkeys', () => {
  it('has several with names, of the person alone', async () => {
    given(await register('laptop'))
    const second = given(await register('phone', { on: new SoftwareAuthenticator(SITE.origin) }))
    expect(second.codes).toBeNull()
    const [laptop, phone] = second.factors.passkeys
    expect([laptop?.name, phone?.name]).toEqual(['laptop', 'phone'])
    expect(given(await challengeToConfirm(people.services, ann.session, SITE)).allow).toHaveLength(2)
    const ben = await people.make('ben@example.com', 'owner')
    expect(refusalOf(await renamePasskey(people.services, ben.session, phone!.id, 'mine')).reason).toBe(
      'passkey_not_found',
    )
    expect(refusalOf(await removePasskey(people.services, ben.session, phone!.id)).reason).toBe('passkey_not_found')
    expect(given(await renamePasskey(people.services, ann.session, phone!.id, 'old phone')).passkeys[1]?.name).toBe(
      'old phone',
    )
    expect(given(await removePasskey(people.services, ann.session, laptop!.id))).toMatchObject({
      recovery_codes_left: 10,
    })
    expect(await meansOf()).toBe('passkey_refused')
    expect(given(await removePasskey(people.services, ann.session, phone!.id))).toMatchObject({
      recovery_codes_left: 0,
    })
    expect(given(await signIn(people.services, { email: EMAIL, password: PASSWORD }, HERE)).session.means).toBe(
      'password',
    )
  })

  it('has at most twenty', async () => {
    for (let made = 0; made < 20; made++)
      given(await register(`key ${made}`, { on: new SoftwareAuthenticator(SITE.origin) }))
    expect(refusalOf(await register('one more', { on: new SoftwareAuthenticator(SITE.origin) })).reason).toBe(
      'too_many_passkeys',
    )
  })
})

it.each(['http://llm.example.com', 'http://127.0.0.1:4600', 'https://[::1]', 'https://192.0.2.1'])(
  'browsers have no passkeys at %s',
  async (origin) => {
    expect(refusalOf(challengeToSignIn(people.services, { origin })).reason).toBe('passkeys_unavailable')
    expect(refusalOf(await challengeToRegister(people.services, ann.session, { origin })).reason).toBe(
      'passkeys_unavailable',
    )
    expect(refusalOf(await register('a', { site: { origin } })).reason).toBe('passkeys_unavailable')
    expect(challengeToSignIn(people.services, { origin: 'http://localhost:4600' })).toMatchObject({
      value: { rp_id: 'localhost' },
    })
  },
)
