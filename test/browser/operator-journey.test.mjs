import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inviteFirstPerson } from '../../src/admin/invitations.ts'
import { PASSWORD } from '../support/console-session.ts'
import { rowsOfCsv } from '../support/read-csv.ts'
import { nanoOf } from '../support/test-account.ts'
import { startChatProvider } from './lib/chat-provider.mjs'
import { moneyIn } from './lib/read-page.mjs'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const SECOND = 1000
const DAY = 86_400_000
/** They open the circuit of a lane. */
const FAILURES = 5
const ROOT = 'root@operator.example'
const OWNER = 'owner@customer.example'
const CREDIT = '25.00'
const ZONE = 'Europe/Lisbon'
/** It owns no provider, no model and no plan. */
const CONFIG = 'console: { enabled: true }\n'

const dayOf = (at) => new Intl.DateTimeFormat('en-CA', { timeZone: ZONE, dateStyle: 'short' }).format(at)
const sum = (rows, amountOf) => rows.reduce((total, row) => total + amountOf(row), 0n)

/** An operator has only the browser, and the server has nothing. The test is the program of a customer and the two providers. */
describe.skipIf(CHROMIUM === undefined)('an operator without a shell, from an empty server to an invoice', () => {
  const { server, origin, open } = useConsole({ config: CONFIG, stepped: -DAY })
  let first
  let second
  beforeAll(async () => {
    first = await startChatProvider({ key: 'sk-first', models: ['own-model', 'another'] })
    second = await startChatProvider({ key: 'sk-second', models: ['own-model'] })
  })
  afterAll(async () => {
    await first.close()
    await second.close()
  })

  const button = (place, name) => place.getByRole('button', { name, exact: true })
  const dialogOf = (page) => page.getByRole('dialog')
  const field = (page, name) => dialogOf(page).getByLabel(name, { exact: true })
  const menu = (page, name) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  const heading = (page, name) => page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
  const said = (page, text) => page.getByText(text, { exact: true }).first().waitFor()

  async function pick(page, name, act) {
    await button(page.getByRole('row', { name: new RegExp(`^${name} `) }), `Actions for ${name}`).click()
    await page.getByRole('menuitem', { name: act }).click()
  }

  async function setUp(page) {
    await page.getByLabel('Email').fill(ROOT)
    await page.getByLabel('New password').fill(PASSWORD)
    await button(page, 'Finish setup').click()
    await page.getByRole('navigation').getByRole('link', { name: 'Lanes' }).waitFor()
  }

  /** Provider and key, then its models; a wrong key is noticed before anything is saved. */
  async function findModels(page, name, { url }) {
    const dialog = dialogOf(page)
    await dialog.getByRole('combobox', { name: 'Provider' }).selectOption('other')
    await field(page, 'Name').fill(name)
    await field(page, 'Address').fill(url)
    await dialog.getByLabel('A server of my own').check()
    await dialog.getByLabel(/^API key/).fill('sk-wrong')
    await button(dialog, 'Find models').click()
    await dialog.getByText('Incorrect API key').waitFor()
    await dialog.getByLabel(/^API key/).fill(`sk-${name}`)
    await button(dialog, 'Find models').click()
    await field(page, 'own-model').check()
  }

  async function fillCost(page, input, output) {
    await dialogOf(page)
      .getByLabel(/^Input costs you/)
      .fill(input)
    await dialogOf(page)
      .getByLabel(/^Output costs you/)
      .fill(output)
  }

  async function saveProvider(page) {
    await button(dialogOf(page), 'Test own-model').click()
    await dialogOf(page).getByRole('status').waitFor()
    await button(dialogOf(page), 'Save provider and models').click()
    await said(page, 'Provider saved')
  }

  async function addProviders(page) {
    await menu(page, 'Lanes')
    await page.getByRole('main').getByRole('link', { name: 'Add provider' }).click()
    await findModels(page, 'first', first)
    await field(page, 'Context in tokens').fill('32000')
    await field(page, 'Longest output in tokens').fill('1000')
    await field(page, 'Input, USD per million tokens').fill('1')
    await field(page, 'Output, USD per million tokens').fill('1000')
    await fillCost(page, '0.5', '400')
    await saveProvider(page)
    await button(page, 'Add provider').click()
    await findModels(page, 'second', second)
    await dialogOf(page).getByText('own-model is there already').waitFor()
    await fillCost(page, '0.7', '650')
    await saveProvider(page)
    await menu(page, 'Lanes')
    const lanes = page.getByRole('table', { name: 'own-model' })
    await lanes.getByRole('row', { name: /^first own-model Available .* 1, 1$/ }).waitFor()
    await lanes.getByRole('row', { name: /^second own-model Available .* 2, 1$/ }).waitFor()
  }

  async function announcePrice(page, day) {
    await menu(page, 'Providers and prices')
    await pick(page, 'own-model', 'Price')
    await field(page, 'Output').fill('1500')
    await dialogOf(page).getByLabel(/^From/).fill(day)
    await button(dialogOf(page), 'Who pays what').click()
    await dialogOf(page)
      .getByRole('row', { name: /^Total 0 / })
      .waitFor()
    await button(dialogOf(page), 'Save price').click()
    await said(page, 'Price saved')
  }

  async function addPlan(page) {
    await menu(page, 'Plans')
    await page.getByRole('main').getByRole('link', { name: 'Add plan' }).click()
    await field(page, 'Name').fill('pro')
    await field(page, 'Models').fill('own-*')
    await field(page, 'Allowance 1, USD').fill('5')
    await button(dialogOf(page), 'Save plan').click()
    await said(page, 'Plan saved')
  }

  /** With a plan, credit and an invitation. Returns the id of the account and the link. */
  async function addAccount(page) {
    await menu(page, 'Accounts')
    await button(page, 'New account').first().click()
    await field(page, 'Email').fill(OWNER)
    await button(dialogOf(page), 'New account').click()
    await heading(page, OWNER)
    await page.getByRole('combobox', { name: 'Plan' }).selectOption('pro')
    await button(page, 'Assign plan').click()
    await said(page, 'Plan: pro')
    await button(page, 'Adjust balance').click()
    await field(page, 'Amount in USD').fill(CREDIT)
    await field(page, 'Reason').fill('First deposit')
    await button(dialogOf(page), 'Add credit').click()
    await said(page, 'The balance was adjusted.')
    await button(dialogOf(page), 'Done').click()
    await button(page, 'Invite').click()
    await button(dialogOf(page), 'Create link').click()
    const link = await dialogOf(page)
      .getByText(/\/console\/setup\?code=/)
      .textContent()
    await button(dialogOf(page), 'Done').click()
    return { id: new URL(page.url()).pathname.split('/').at(-1), link: link.trim() }
  }

  async function join(link) {
    const page = await open(link.slice(`${origin()}/console`.length))
    await page.getByLabel('New password').fill(PASSWORD)
    await button(page, 'Finish setup').click()
    await page.getByRole('navigation').getByRole('link', { name: 'Keys' }).waitFor()
    return page
  }

  /** A session ends when it is not used for hours. */
  async function signIn(page, email) {
    await page.reload()
    await heading(page, 'Sign in')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(page, 'Sign in').click()
    await page.getByRole('navigation').first().waitFor()
  }

  async function makeKey(page, name, kind) {
    await menu(page, 'Keys')
    await button(page, 'New key').first().click()
    await field(page, 'Name').fill(name)
    await dialogOf(page).getByRole('group', { name: 'Pay with' }).getByText(kind, { exact: true }).click()
    await button(dialogOf(page), 'Create key').click()
    const dialog = page.getByRole('dialog', { name: 'Save your key' })
    const key = await dialog.getByText(/^mr_/).first().textContent()
    await button(dialog, 'Done').click()
    return key.trim()
  }

  /** Returns the id of the request. */
  async function ask(key) {
    const { status, id } = await streamChat(origin(), key, { model: 'own-model', max_tokens: 500 })
    expect(status).toBe(200)
    return id
  }

  /** The lane that fails is seen where an operator looks first, and how the request was answered all the same. */
  async function seeFailover(page, id) {
    await menu(page, 'Lanes')
    const lanes = page.getByRole('table', { name: 'own-model' })
    await lanes.getByRole('row', { name: /^first own-model (Failing, retry in|Retrying)/ }).waitFor()
    await lanes.getByRole('row', { name: /^first .*\(500\)/ }).waitFor()
    await menu(page, 'All requests')
    await page.getByRole('main').locator(`a[href$="/requests/${id}"]`).first().click()
    const tried = page.getByRole('region', { name: 'Lanes tried' }).or(page.getByRole('main'))
    await tried.getByText('first/own-model').first().waitFor()
    await tried.getByText('second/own-model').first().waitFor()
    await tried.getByText(/500/).first().waitFor()
    await menu(page, 'Server overview')
    await page
      .getByText(/used another lane/)
      .first()
      .waitFor()
  }

  /** The requests until now at the price that was announced for later. */
  async function expectPreview(page, { receipts, charged, plan, requests }) {
    await menu(page, 'Providers and prices')
    await pick(page, 'own-model', 'Price')
    await field(page, 'Output').fill('1600')
    await button(dialogOf(page), 'Who pays what').click()
    const wouldBe = sum(receipts, ({ output, input }) => BigInt(input) * 1000n + BigInt(output) * 1_600_000n)
    for (const name of [OWNER, 'Total']) {
      const row = dialogOf(page).getByRole('row', { name: new RegExp(`^${name} ${requests} `) })
      const [before, after, change] = await Promise.all(
        [2, 3, 4].map((cell) => moneyIn(row.getByRole('cell').nth(cell))),
      )
      expect([before, after, change]).toEqual([charged + plan, wouldBe, wouldBe - charged - plan])
    }
    await button(dialogOf(page), 'Cancel').click()
  }

  async function readFileOf(page, start) {
    const [file] = await Promise.all([page.waitForEvent('download'), start.click()])
    return readFile(await file.path(), 'utf8')
  }

  const tile = (page, label) =>
    page.locator('div:has(> .stat-value)').filter({ has: page.getByText(label, { exact: true }) })
  const countIn = async (place) =>
    Number((await place.locator('[title]').first().getAttribute('title')).replaceAll(',', ''))
  const noteIn = (place) => place.locator('.stat-value + div')

  /** Every receipt of the account, by nothing but the ledger's own tables. */
  async function ledgerOf(account) {
    const { ledger } = server().app.operations.files
    const rows = await ledger.all(
      `SELECT receipts.*, prices.terms FROM receipts JOIN accounts ON accounts.row = receipts.account
         JOIN prices ON prices.model = receipts.model AND prices.version = receipts.price_version
         WHERE accounts.id = ? ORDER BY receipts.row`,
      [account],
    )
    const receipts = rows.map((row) => {
      const attempts = JSON.parse(row.attempts)
      return {
        ...{ id: row.request_id, kind: row.kind, charge: BigInt(row.charge_nano) },
        ...{ input: Number(row.uncached_input), output: Number(row.output) },
        ...{ closedAt: Number(row.closed_at), failed: row.outcome !== 'completed', version: Number(row.price_version) },
        ...{ lanes: new Set(attempts.map(({ lane }) => lane)).size },
        cost: attempts.reduce((total, { cost }) => total + BigInt(cost ?? 0), 0n),
      }
    })
    const transfers = await ledger.all(
      `SELECT amount_nano FROM transfers JOIN accounts ON accounts.row = transfers.account
         WHERE accounts.id = ? AND unit = 'usd' ORDER BY transfers.row`,
      [account],
    )
    const [wallet] = await ledger.all(
      `SELECT posted_nano, held_nano FROM buckets JOIN accounts ON accounts.row = buckets.account
         WHERE accounts.id = ? AND kind = 'wallet'`,
      [account],
    )
    const credited = sum(transfers, ({ amount_nano }) => BigInt(amount_nano))
    const ofKind = (kind) => receipts.filter((each) => each.kind === kind)
    const charged = sum(ofKind('wallet'), ({ charge }) => charge)
    const cost = sum(ofKind('wallet'), (each) => each.cost)
    expect(BigInt(wallet.posted_nano)).toBe(credited - charged)
    expect(BigInt(wallet.held_nano)).toBe(0n)
    return {
      ...{ receipts, credited, charged, cost, margin: charged - cost, balance: credited - charged },
      ...{
        plan: sum(ofKind('builder'), ({ charge }) => charge),
        planCost: sum(ofKind('builder'), (each) => each.cost),
      },
      ...{ requests: receipts.length, failovers: receipts.filter(({ lanes }) => lanes > 1).length },
    }
  }

  async function expectOverview(page, ledger) {
    await menu(page, 'Server overview')
    const asked = page.waitForRequest((request) => request.url().includes('/console/api/operate/overview'))
    await page.reload()
    // The page may have asked before it was loaded again, and such an answer has no body any more.
    const { total, models, accounts } = await page.evaluate(
      async (url) => (await fetch(url)).json(),
      (await asked).url(),
    )
    const onPage = {
      revenue: await moneyIn(tile(page, 'Revenue')),
      cost: await moneyIn(tile(page, 'Provider cost')),
      margin: await moneyIn(tile(page, 'Margin')),
      requests: await countIn(tile(page, 'Requests')),
      failed: await countIn(tile(page, 'Errors')),
    }
    const { requests, charged: revenue, cost, margin } = ledger
    expect(onPage).toEqual({ requests, revenue, cost, margin, failed: 0 })
    expect(await noteIn(tile(page, 'Requests')).textContent()).toBe(`${ledger.failovers} used another lane`)
    for (const sums of [total, models[0].served, accounts[0].served])
      expect({
        ...{ requests: sums.requests, failed: sums.failed, failovers: sums.failovers, unpriced: sums.unpriced },
        ...{ revenue: nanoOf(sums.revenue), cost: nanoOf(sums.cost), margin: nanoOf(sums.margin) },
        ...{ plan: nanoOf(sums.plan), planCost: nanoOf(sums.plan_cost) },
      }).toEqual({
        ...{ requests, failed: 0, failovers: ledger.failovers, unpriced: 0, revenue, cost, margin },
        ...{ plan: ledger.plan, planCost: ledger.planCost },
      })
    expect(accounts[0].email).toBe(OWNER)
    const row = page.getByRole('table', { name: 'Accounts' }).getByRole('row', { name: new RegExp(OWNER) })
    const cells = await row.getByRole('cell').all()
    expect(await Promise.all(cells.slice(3).map(moneyIn))).toEqual([revenue, ledger.plan, cost, margin])
  }

  async function expectAllRequests(page, ledger) {
    await menu(page, 'All requests')
    const rows = rowsOfCsv(await readFileOf(page, button(page, 'Download CSV')))
    const inLedger = ledger.receipts.map(({ id, charge, cost, lanes, output }) => [id, charge, cost, lanes, output])
    const inFile = rows.map((row) => [
      ...[row.id, nanoOf(row.charge_usd), nanoOf(row.cost_usd), Number(row.lanes_called), Number(row.output)],
    ])
    expect(inFile.toReversed()).toEqual(inLedger)
    for (const { id, kind, charge } of ledger.receipts.slice(-2)) {
      await page.goto(`${origin()}/console/operate/requests/${id}`)
      const charged = page.getByRole('row', { name: kind === 'wallet' ? /^Charged/ : /^Counted against the plan/ })
      expect(await moneyIn(charged)).toBe(charge)
    }
  }

  async function expectAccount(page, id, ledger) {
    await menu(page, 'Accounts')
    await page.getByRole('main').locator(`a[href$="/accounts/${id}"]`).first().click()
    await heading(page, OWNER)
    expect(await moneyIn(tile(page, 'Balance'))).toBe(ledger.balance)
    const usage = rowsOfCsv(await readFileOf(page, button(page, 'Download CSV')))
    expect({
      requests: sum(usage, (row) => BigInt(row.requests)),
      wallet: sum(usage, (row) => nanoOf(row.wallet_usd)),
      plan: sum(usage, (row) => nanoOf(row.plan_usd)),
    }).toEqual({ requests: BigInt(ledger.requests), wallet: ledger.charged, plan: ledger.plan })
    await page.getByRole('tab', { name: 'Statement' }).click()
    const newest = page.getByRole('table', { name: 'Statement' }).getByRole('row').nth(1)
    expect(await moneyIn(newest.getByRole('cell').last())).toBe(ledger.balance)
    const statement = rowsOfCsv(await readFileOf(page, button(page, 'Download CSV')))
    expect(sum(statement, (row) => nanoOf(row.amount))).toBe(ledger.balance)
  }

  /** Of each month that has a request. Returns the balance at the end of the last one. */
  async function expectInvoices(page, ledger) {
    await page.getByRole('main').getByRole('link', { name: 'Invoice' }).click()
    await heading(page, 'Invoice')
    const months = [...new Set(ledger.receipts.map(({ closedAt }) => dayOf(closedAt).slice(0, 7)))]
    let opening = 0n
    for (const month of months) {
      await page.getByRole('combobox', { name: 'Month' }).selectOption(month)
      await page.waitForURL((url) => url.searchParams.get('month') === month)
      const file = rowsOfCsv(await readFileOf(page, button(page, 'Download CSV')))
      const ofMonth = ledger.receipts.filter(({ closedAt }) => dayOf(closedAt).startsWith(month))
      const charged = sum(ofMonth, ({ kind, charge }) => (kind === 'wallet' ? charge : 0n))
      const credited = month === months[0] ? ledger.credited : 0n
      const fact = (name) => page.getByRole('term').filter({ hasText: name }).locator('..')
      await expect.poll(() => moneyIn(fact('Balance after'))).toBe(opening + credited - charged)
      expect(await moneyIn(fact('Balance before'))).toBe(opening)
      const rowsOf = (line) => file.filter((row) => row.line === line)
      const amountOf = (line) => sum(rowsOf(line), (row) => nanoOf(row.amount_usd))
      expect([amountOf('opening'), amountOf('transfer'), amountOf('charge')]).toEqual([opening, credited, -charged])
      expect([amountOf('closing'), amountOf('charged')]).toEqual([opening + credited - charged, charged])
      expect(sum(rowsOf('charge'), (row) => BigInt(row.requests))).toBe(BigInt(ofMonth.length))
      opening += credited - charged
    }
    expect(opening).toBe(ledger.balance)
  }

  async function expectOwner(page, ledger) {
    await menu(page, 'Wallet')
    await page.reload()
    expect(await moneyIn(tile(page, 'Balance'))).toBe(ledger.balance)
    await menu(page, 'Usage')
    const usage = rowsOfCsv(await readFileOf(page, button(page, 'Download CSV')))
    expect(sum(usage, (row) => nanoOf(row.wallet_usd))).toBe(ledger.charged)
    expect(sum(usage, (row) => nanoOf(row.plan_usd))).toBe(ledger.plan)
  }

  it('offers models, bills a customer through a failover and a new price, and every figure is that of the ledger', async () => {
    const { code } = await inviteFirstPerson(server().app.operations.people)
    const page = await open(`/setup?code=${code}`)
    await setUp(page)
    await addProviders(page)
    await announcePrice(page, new Date().toISOString().slice(0, 10))
    await addPlan(page)
    const { id, link } = await addAccount(page)
    const owner = await join(link)
    const walletKey = await makeKey(owner, 'laptop', 'Wallet')
    const planKey = await makeKey(owner, 'agent', 'Builder')

    for (const key of [walletKey, planKey, walletKey]) await ask(key)
    first.failing = true
    let failedOver
    for (let failure = 0; failure < FAILURES; failure++) {
      // So many failovers a second are always allowed.
      server().advance(SECOND)
      failedOver = await ask(failure % 2 === 0 ? walletKey : planKey)
    }
    await ask(walletKey)
    await seeFailover(page, failedOver)
    first.failing = false

    server().advance(DAY - FAILURES * SECOND)
    // Real time has not passed, by which the server waits for the moment of the price.
    await server().app.managed.apply()
    for (const key of [walletKey, planKey, walletKey]) await ask(key)

    await signIn(page, ROOT)
    await signIn(owner, OWNER)
    const ledger = await ledgerOf(id)
    expect([...new Set(ledger.receipts.map(({ version }) => version))]).toHaveLength(2)
    expect(ledger.failovers).toBeGreaterThanOrEqual(FAILURES)
    for (const amount of [ledger.charged, ledger.cost, ledger.margin, ledger.plan, ledger.planCost])
      expect(amount > 0n).toBe(true)
    await expectPreview(page, ledger)
    await expectOverview(page, ledger)
    await expectAllRequests(page, ledger)
    await expectAccount(page, id, ledger)
    await expectInvoices(page, ledger)
    await expectOwner(owner, ledger)
  })
})
