import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { spawnProgram } from './lib/spawn-program.mjs'
import { CHROMIUM, useBrowser, useConsole } from './lib/use-console.mjs'

const KEYS_PAGE = /\/assets\/KeysPage-[^/]*\.js$/
const GERMAN = /\/assets\/de-[^/]*\.js$/
const LOST = 'Part of the console could not be loaded'
const heading = (page, name) => page.getByRole('heading', { name, exact: true })
const menuLink = (page, name) => page.getByRole('navigation').getByRole('link', { name, exact: true })
const answerNotFound = (route) => route.fulfill({ status: 404, json: {} })

describe.skipIf(CHROMIUM === undefined)('a page whose files are missing', () => {
  const { person, open } = useConsole()

  it('shows an error inside the shell and loads again when its files are back', async () => {
    const page = await open('/models', await person())
    await page.route(KEYS_PAGE, answerNotFound)
    await menuLink(page, 'Keys').click()
    await page.getByRole('alert').getByText(LOST).waitFor()
    await menuLink(page, 'Wallet').click()
    await heading(page, 'Wallet').waitFor()
    await menuLink(page, 'Keys').click()
    await page.getByRole('alert').getByText(LOST).waitFor()
    await page.unroute(KEYS_PAGE)
    await page.getByRole('button', { name: 'Reload' }).click()
    await heading(page, 'Keys').waitFor()
  })

  it('keeps its language and shows an error if the messages of another are missing', async () => {
    const page = await open('/settings', await person())
    await page.route(GERMAN, answerNotFound)
    await page.getByText('Deutsch', { exact: true }).click()
    await page.getByText(LOST).first().waitFor()
    await heading(page, 'Settings').waitFor()
    await page.unroute(GERMAN)
    await menuLink(page, 'Wallet').click()
    await heading(page, 'Wallet').waitFor()
    await page.reload()
    await heading(page, 'Guthaben').waitFor()
  })

  it.each([
    ['its first file', /\/assets\/rolldown-runtime-[^/]*\.js$/],
    ['what most pages stand on', /\/assets\/kit-[^/]*\.js$/],
    ['its words', /\/assets\/en-[^/]*\.js$/],
  ])('shows a message with a reload button if %s is missing', async (_, file) => {
    const isForgiven = (complaint) => /Failed to fetch dynamically imported module/.test(complaint)
    const page = await open('/models', await person(), { isForgiven })
    await heading(page, 'Models').waitFor()
    await page.route(file, answerNotFound)
    await page.reload()
    await page.getByText('The console could not be loaded').waitFor()
    await page.unroute(file)
    await page.getByRole('button', { name: 'Reload' }).click()
    await heading(page, 'Models').waitFor()
    expect(await page.getByText('The console could not be loaded').isVisible()).toBe(false)
  })
})

describe.skipIf(CHROMIUM === undefined)('a page whose server is down', () => {
  let program
  beforeEach(async () => {
    program = await spawnProgram(PLANS_CONFIG)
  })
  afterEach(() => program.close())
  // Registered last so that the pages close before the server.
  const openPage = useBrowser()

  it("never gives way to the browser's error page", async () => {
    const link = await program.setupLink()
    const isForgiven = (complaint) => /net::ERR_/.test(complaint)
    const page = await openPage(program.origin, link.slice(`${program.origin}/console`.length), { isForgiven })
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('New password').fill('a long enough one')
    await page.getByRole('button', { name: 'Finish setup' }).click()
    await heading(page, 'Overview').waitFor()
    await program.close()
    await menuLink(page, 'Wallet').click()
    await page.getByRole('alert').getByText(LOST).waitFor()
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('The server is not responding yet.').waitFor()
    await menuLink(page, 'Overview').click()
    await heading(page, 'Overview').waitFor()
    await page.getByText('Could not reach the server').first().waitFor()
  })
})
