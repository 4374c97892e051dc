// Takes screenshots of every page of a running server: light and dark, 360 and 1440 pixels wide.
//
//   node test/browser/screenshots.mjs --data DIR --out DIR [--locale de-DE] [--email EMAIL --password PASSWORD]
//     [--looks 1440-light,360-dark] [--only /usage]
//   node test/browser/screenshots.mjs --data DIR --readme docs/images --email owner@example.com
//
// `--data` is the data folder of the server. If the server is not set up yet, the script signs up with the setup link in that
// folder. The default email is `looks@example.com`, and the script prints the default password.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { allPages } from './lib/all-pages.mjs'
import { findChromium } from './lib/find-chromium.mjs'

const TEXT = { type: 'string' }
const { values: given } = parseArgs({
  options: {
    ...{ data: TEXT, out: TEXT, locale: TEXT, email: TEXT, password: TEXT, only: TEXT, readme: TEXT },
    looks: { type: 'string', default: '1440-light,1440-dark,360-light,360-dark' },
  },
})
const { data, out, locale = 'en-US', email = 'looks@example.com', password = 'to look at pages' } = given
if (data === undefined || (out ?? given.readme) === undefined) throw new Error('Usage: --data DIR --out DIR')

/** None for the pictures of the README. */
const LOOKS = (out === undefined ? [] : given.looks.split(',')).map((look) => {
  const [width, colorScheme] = look.split('-')
  return { colorScheme, width: Number(width) }
})
const origin = new URL(JSON.parse(readFileSync(join(data, 'server.json'), 'utf8')).url).origin

mkdirSync(out ?? given.readme, { recursive: true })
const browser = await chromium.launch({ executablePath: findChromium(process.env), args: ['--no-sandbox'] })
const storageState = await enter()
if (given.readme !== undefined) await takePictures(given.readme)
for (const { colorScheme, width } of LOOKS) {
  const look = { colorScheme, viewport: { width, height: 900 }, locale }
  const [inside, outside] = [await watched({ ...look, storageState }), await watched(look)]
  const pages = allPages(await idsOf(inside)).filter(({ path }) => path.startsWith(given.only ?? '/'))
  for (const { path, signedOut } of pages) {
    const page = signedOut ? outside : inside
    await page.goto(`${origin}/console${path}`, { waitUntil: 'networkidle' })
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    if (wide > 0) console.log(`${path} at ${width}: ${wide} px too wide`)
    const name =
      path
        .replace(/_[a-z0-9]+/g, '')
        .replace(/\W+/g, '-')
        .replace(/^-|-$/g, '') || 'overview'
    await page.screenshot({ path: join(out, `${name}-${width}-${colorScheme}.png`), fullPage: true })
  }
  await Promise.all([inside, outside].map((page) => page.context().close()))
}
await browser.close()

/** The pictures of the README, of a server that `seed-year.mjs --organisation` has filled. */
async function takePictures(folder) {
  const viewport = { width: 1200, height: 750 }
  const page = await watched({ colorScheme: 'light', viewport, locale, storageState })
  const { items } = await (
    await page.request.get(`${origin}/console/api/requests?model=deep-thinker&outcome=ok`)
  ).json()
  const paths = { overview: '/', usage: '/usage', request: `/requests/${items[0].id}` }
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(`${origin}/console${path}`, { waitUntil: 'networkidle' })
    await page.locator('main h1').waitFor()
    await page.waitForFunction(() => document.querySelector('main [aria-busy]') === null)
    await page.screenshot({ path: join(folder, `${name}.png`) })
  }
}

async function watched(options) {
  const page = await (await browser.newContext(options)).newPage()
  page.setDefaultTimeout(120_000)
  page.on('pageerror', (error) => console.log(`error: ${error.message}`))
  return page
}

/** Signs up on a new server and signs in on any other. */
async function enter() {
  const page = await watched({ locale: 'en-US' })
  const session = await (await page.request.get(`${origin}/console/api/session`)).json()
  const link = session.setup_needed ? readFileSync(join(data, 'console-setup'), 'utf8').trim() : undefined
  await page.goto(
    link === undefined ? `${origin}/console/sign-in` : `${origin}${link.slice(new URL(link).origin.length)}`,
  )
  await page.getByLabel('Email').fill(email)
  await page.getByLabel(/^(New p|P)assword$/).fill(password)
  await page.getByRole('button', { name: /^(Finish setup|Sign in)$/ }).click()
  await page.getByRole('button', { name: email }).waitFor()
  if (link !== undefined) console.log(`Signed up as ${email}, with the password "${password}".`)
  const state = await page.context().storageState()
  await page.context().close()
  return state
}

/** The ids of the first row of each list, or ids that do not exist. */
async function idsOf(page) {
  const lists = {
    ...{ request: '/requests', key: '/keys', account: '/operate/accounts', team: '/teams', person: '/members' },
    run: '/runs',
  }
  const first = async (path) => (await (await page.request.get(`${origin}/console/api${path}`)).json()).items?.[0]?.id
  const found = await Promise.all(Object.entries(lists).map(async ([name, path]) => [name, await first(path)]))
  return Object.fromEntries(found.map(([name, id]) => [name, id ?? `${name}_none`]))
}
