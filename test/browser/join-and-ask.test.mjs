import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { totpCode, totpStepAt } from '../../src/auth/totp.ts'
import { startIssuer } from '../fakes/oidc-issuer.ts'
import { PASSWORD, signUp } from '../support/console-session.ts'
import { readTotpSecret } from '../support/read-totp-secret.ts'
import { corpAt } from '../support/sign-on.ts'
import { nanoOf } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { moneyIn } from './lib/read-page.mjs'
import { receiptOf, streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const OWNER = 'chief@staff.example'
const INVITED = 'new@staff.example'
const ROLES = 'create_people: true, roles: [{ group: Chiefs, account: staff@example.com, role: owner }]'
const issuer = await startIssuer({ page: true })

describe.skipIf(CHROMIUM === undefined)('from an invitation to the first request', () => {
  const { server, open: openPage } = useConsole({
    config: `${TEST_CONFIG}\nsign_in: { oidc: [${corpAt(issuer.url, ROLES)}] }\n`,
  })
  let account
  beforeAll(async () => {
    account = await server().operate('accounts.create', { email: 'staff@example.com' })
    await server().operate('wallet.credit', { account: account.id, amount: '10.00', ref: 'journey', reason: 'a start' })
    await signUp(server(), { email: 'root@example.com', role: 'operator' })
    issuer.person = { sub: 'chief', email: OWNER, email_verified: true, groups: ['Chiefs'], amr: ['pwd', 'mfa'] }
  })
  afterAll(() => issuer.close())

  // Browsers have passkeys under names alone.
  const at = () => `http://localhost:${server().port}`
  const open = (path, person) =>
    openPage(path, person, {
      at: at(),
      isForgiven: (complaint) => JSON.stringify(complaint).includes(issuer.url),
    })
  const heading = (page, name) => page.getByRole('heading', { name, exact: true })
  const button = (place, name) => place.getByRole('button', { name, exact: true })
  const dialog = (page, name) => page.getByRole('dialog', { name, exact: true })

  /** By single sign-on. Requires a second step of everyone, and invites. Returns the link. */
  async function invite() {
    const page = await open('/members')
    await page.getByRole('link', { name: 'Continue with Corp' }).click()
    await button(page, `Continue as ${OWNER}`).click()
    await page.waitForURL(`${at()}/console/members`)
    await page.getByRole('switch', { name: 'Require a second step of everyone' }).click()
    await page.getByText('Saved', { exact: true }).first().waitFor()
    await button(page, 'Invite').click()
    await page.getByRole('dialog').getByLabel('Email').fill(INVITED)
    await page.getByRole('dialog').getByLabel('Role').selectOption('member')
    await button(page.getByRole('dialog'), 'Create link').click()
    const link = await dialog(page, 'Invitation link')
      .getByText(/\/console\/setup\?code=/)
      .textContent()
    return { page, link: link.trim() }
  }

  async function saveCodes(page) {
    await dialog(page, 'Save your recovery codes').waitFor()
    await button(page, 'Done').click()
  }

  /** Takes the invitation, and adds a passkey and an authenticator app before anything else. Returns the codes of the app. */
  async function join(page, link) {
    const devices = await page.context().newCDPSession(page)
    await devices.send('WebAuthn.enable')
    await devices.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
        ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
      },
    })
    await page.goto(link)
    await page.getByLabel('New password').fill(PASSWORD)
    await button(page, 'Finish setup').click()
    await heading(page, 'Second step').waitFor()
    // No page opens before.
    await page.goto(`${at()}/console/keys`)
    await heading(page, 'Second step').waitFor()
    await button(page, 'Add passkey').click()
    await dialog(page, 'Add passkey').getByLabel('Name').fill('This laptop')
    await button(dialog(page, 'Add passkey'), 'Add passkey').click()
    await saveCodes(page)
    await button(page, 'Add authenticator app').click()
    const secret = readTotpSecret(await dialog(page, 'Add authenticator app').locator('code').textContent())
    const code = () => totpCode(secret, totpStepAt(server().app.operations.clock.now()))
    await dialog(page, 'Add authenticator app').getByLabel('Code', { exact: true }).fill(code())
    await button(page, 'Turn on').click()
    await page.getByText('Asked for since').waitFor()
    await button(page, 'Continue').click()
    await heading(page, 'Keys').waitFor()
    return code
  }

  async function signOut(page) {
    await button(page, INVITED).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await heading(page, 'Sign in').waitFor()
  }

  async function makeKey(page) {
    await page.goto(`${at()}/console/keys`)
    await button(page, 'New key').first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('laptop')
    await button(page.getByRole('dialog'), 'Create key').click()
    const key = await dialog(page, 'Save your key')
      .getByText(/^mr_wallet_/)
      .first()
      .textContent()
    await button(dialog(page, 'Save your key'), 'Done').click()
    return key.trim()
  }

  it('signs in by each factor, and the cost on the page is that of the ledger and of the API', async () => {
    const { page: owner, link } = await invite()
    const page = await open('/sign-in')
    const code = await join(page, link)

    await signOut(page)
    await button(page, 'Use a passkey').click()
    await page.getByRole('navigation').getByRole('link', { name: 'Keys' }).waitFor()
    await signOut(page)
    server().advance(30_000)
    await page.getByLabel('Email').fill(INVITED)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(page, 'Sign in').click()
    await page.getByLabel('Code', { exact: true }).fill(code())
    await button(page, 'Sign in').click()
    await page.getByRole('navigation').getByRole('link', { name: 'Keys' }).waitFor()

    const key = await makeKey(page)
    const sent = await streamChat(at(), key, { model: 'swift' })
    expect(sent.status).toBe(200)
    await page.goto(`${at()}/console/requests`)
    await page.getByRole('main').locator(`a[href$="/requests/${sent.id}"]`).first().click()
    const onPage = await moneyIn(page.getByRole('row', { name: /^Charged/ }))
    const inApi = nanoOf((await receiptOf(at(), key, sent.id)).charge)
    const inLedger = await server()
      .app.operations.db.selectFrom('receipts')
      .select('charge_nano')
      .where('request_id', '=', sent.id)
      .executeTakeFirstOrThrow()
    expect([onPage, inApi]).toEqual([inLedger.charge_nano, inLedger.charge_nano])
    expect(onPage > 0n).toBe(true)
    // The owner sees what it cost.
    await button(owner, 'Done').click()
    await owner.goto(`${at()}/console/requests/${sent.id}`)
    expect(await moneyIn(owner.getByRole('row', { name: /^Charged/ }))).toBe(onPage)

    // Another member does not find it, in the console and by a key.
    await owner.goto(`${at()}/console/members`)
    await owner.getByRole('switch', { name: 'Require a second step of everyone' }).click()
    await owner.getByText('Saved', { exact: true }).first().waitFor()
    const session = await signUp(server(), { email: 'other@staff.example', role: 'member', account: account.id })
    const refused = await session.send('GET /requests/:request', { params: { request: sent.id } })
    expect([refused.status, refused.error.code]).toEqual([404, 'request_not_found'])
    expect((await session.call('GET /requests')).items).toEqual([])
    const { secret } = await session.call('POST /keys', { body: { name: 'other', kind: 'wallet' } })
    expect(await receiptOf(at(), secret, sent.id)).toHaveProperty('error')
    const stranger = await openPage(`/requests/${sent.id}`, { session }, { isForgiven: () => true })
    await stranger.getByRole('main').getByText('Request not found').first().waitFor()
    expect(await stranger.getByRole('row', { name: /^Charged/ }).count()).toBe(0)
  })
})
