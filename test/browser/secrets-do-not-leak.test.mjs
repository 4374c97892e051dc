import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { queryEveryRoute, rowsIn } from './lib/query-every-route.mjs'
import { clipboardOf } from './lib/read-page.mjs'
import { spawnProgram } from './lib/spawn-program.mjs'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useBrowser } from './lib/use-console.mjs'

const PAGES = [
  '/',
  '/keys',
  '/requests',
  '/usage',
  '/wallet',
  '/audit',
  '/settings',
  '/operate/audit',
  '/connect',
  '/playground',
]

describe.skipIf(CHROMIUM === undefined)('the secrets of keys and sessions', () => {
  let program
  beforeEach(async () => {
    program = await spawnProgram(PLANS_CONFIG)
  })
  afterEach(() => program.close())
  const openPage = useBrowser()

  it('appear in no address, log, browser storage, list or page after the dialog is closed', async () => {
    const link = await program.setupLink()
    const page = await openPage(program.origin, link.slice(`${program.origin}/console`.length))
    const addresses = []
    const answers = []
    page.context().on('request', (request) => addresses.push(request.url()))
    page.context().on('response', (response) => answers.push(response))
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('New password').fill('a long enough one')
    await page.getByRole('button', { name: 'Finish setup' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await program.operate('wallet', 'credit', 'ada@example.com', '1.00', '--reason', 'walk', '--ref', 'first')

    await page.goto(`${program.origin}/console/keys`)
    await page.getByRole('button', { name: 'New key' }).first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('canary')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('button', { name: 'Copy secret' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const secret = await clipboardOf(page)
    expect(await page.content(), 'the canary can be seen at all').toContain(secret)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const session = (await page.context().cookies()).find(({ name }) => name === 'millrace_session').value
    expect(session.length).toBeGreaterThan(40)
    expect((await streamChat(program.origin, secret, { model: 'swift' })).status).toBe(200)
    await fillEveryList(program, page)

    const places = { 'the page behind the dialog': await page.content() }
    places['the list of keys as it stands'] = JSON.stringify(await heldByScripts(page))
    for (const path of PAGES) {
      await page.goto(`${program.origin}/console${path}`)
      await page.waitForLoadState('networkidle')
      places[`the page ${path}`] = await page.content()
    }
    places['what the browser keeps'] = JSON.stringify(await keptByBrowser(page))
    places['what scripts can read'] = await page.evaluate(() => document.cookie)
    places.addresses = addresses.join('\n')
    places.log = program.output()
    for (const outputs of await queryEveryRoute(page)) {
      expect(outputs.status, `${outputs.name}: ${outputs.text}`).toBe(200)
      if (!MAY_BE_EMPTY.includes(outputs.name)) expect(rowsIn(outputs), `the rows of ${outputs.name}`).not.toBe(0)
      places[`the answer to ${outputs.name}`] = outputs.text
    }
    expect(places['the answer to GET /keys'], 'what tells the key apart, which is no secret').toContain('canary')
    for (const [name, text] of await filesOf(program.data)) places[`the file ${name}`] = text
    const texts = await Promise.all(
      answers
        .filter((answer) => answer.url().includes('/console/api/') && answer.request().method() === 'GET')
        .map((answer) => answer.text().catch(() => '')),
    )
    places['answers to questions'] = texts.join('\n')

    const leaks = Object.entries(places).flatMap(([place, text]) =>
      [secret, session, session.replace(/^mr_session_/, '')].some((hidden) => text.includes(hidden)) ? [place] : [],
    )
    expect(leaks).toEqual([])
    expect(places.log).toContain('req_')
    expect(places.addresses.split('\n').length).toBeGreaterThan(PAGES.length)
  })
})

/** One of everything besides keys and requests. */
async function fillEveryList({ origin, operate }, page) {
  await operate('codes', 'create', '5.00')
  await operate('plans', 'assign', 'ada@example.com', 'pro')
  const { key } = await operate('keys', 'create', '--account', 'ada@example.com', '--kind', 'builder', '--name', 'plan')
  const inRun = { 'x-millrace-run': 'walk; max=1.00' }
  expect((await streamChat(origin, key, { model: 'paid', max_tokens: 5 }, inRun)).status).toBe(200)
  const send = (path, body) => page.evaluate(sendChange, { path, body })
  await send('/wallet/ask', { amount: '20.00', note: 'for the walk' })
  await send('/teams', { name: 'Research' })
  for (const prefix of ['', '/operate']) {
    const { webhook } = await send(`${prefix}/webhooks`, { url: 'https://hooks.invalid/', events: ['webhook.off'] })
    await send(`${prefix}/webhooks/${webhook.id}/test`, undefined)
  }
  await operate('people', 'invite', 'ben@example.com', '--account', 'ada@example.com')
}

const sendChange = async ({ path, body }) => {
  const { csrf } = await (await fetch('/console/api/session')).json()
  const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf }
  const response = await fetch(`/console/api${path}`, { method: 'POST', headers, body: body && JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
  return response.json()
}

/** What needs a payment provider, a notice or a change of what operators manage. */
const MAY_BE_EMPTY = [
  'GET /payments',
  'GET /operate/payments',
  'GET /plans/sold',
  'GET /notices',
  'GET /conversations',
  'GET /operate/managed',
  'GET /operate/managed/history',
]

/** The values of inputs are not part of the markup. */
const heldByScripts = (page) =>
  page.evaluate(() => [...document.querySelectorAll('input, textarea')].map((element) => element.value))

async function keptByBrowser(page) {
  return page.evaluate(async () => {
    const databases = await indexedDB.databases()
    const caches = await globalThis.caches.keys()
    return { local: { ...localStorage }, session: { ...sessionStorage }, databases, caches, history: history.state }
  })
}

/** Searches all files as text and bytes, including the database and its journal. */
async function filesOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Promise.all(files.map(async (file) => [file.slice(folder.length), await readFile(file, 'latin1')]))
}
