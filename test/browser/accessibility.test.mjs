import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { beforeAll, describe, expect, it } from 'vitest'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { allPages } from './lib/all-pages.mjs'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Covers each theme and each width once. `EVERY_LOOK=1` covers all four combinations. */
const LOOKS = [
  { colorScheme: 'light', width: 1440 },
  { colorScheme: 'dark', width: 360 },
  ...(process.env.EVERY_LOOK === undefined
    ? []
    : [
        { colorScheme: 'dark', width: 1440 },
        { colorScheme: 'light', width: 360 },
      ]),
]

describe.skipIf(CHROMIUM === undefined)('every page', () => {
  const { server, origin, person, open } = useConsole({ config: PLANS_CONFIG })
  let user
  let paths

  beforeAll(async () => {
    user = await person({ role: 'operator' })
    const { account } = user
    await server().operate('plans.assign', { account: account.id, plan: 'pro' })
    const { key: agent } = await account.createKey({
      kind: 'builder',
      name: 'an agent with a name that is long enough',
    })
    const wallet = await streamChat(origin(), account.key, { model: 'swift' })
    await streamChat(origin(), agent, { model: 'paid', max_tokens: 20 })
    for (const run of [
      'nightly; max=1.00; max_requests=50',
      'nightly.a-child-with-a-long-name; parent=nightly; max=0.20',
    ])
      await streamChat(origin(), account.key, { model: 'paid', max_tokens: 20 }, { 'x-millrace-run': run })
    await user.session.call('POST /wallet/ask', { body: { amount: '5.00', note: 'for more' } })
    await server().operate('codes.create', { amount: '1.00', count: 2, note: 'for a workshop' })
    const { items } = await user.session.call('GET /keys')
    const team = await user.session.call('POST /teams', {
      body: { name: 'a team with a cap', caps: { month: '5.00' } },
    })
    const { items: members } = await user.session.call('GET /members')
    paths = allPages({
      ...{ request: wallet.id, key: items[0].id, account: account.id, team: team.id, person: members[0].id },
      run: 'nightly',
    })
  })

  it.each(LOOKS)(
    'passes axe and is no wider than its screen ($colorScheme, $width)',
    async ({ colorScheme, width }) => {
      const look = { colorScheme, viewport: { width, height: 800 } }
      const inside = await open('/', user, look)
      const outside = await open('/sign-in', undefined, look)
      const found = []
      for (const { path, signedOut } of paths) {
        const page = signedOut ? outside : inside
        await page.goto(`${origin()}/console${path}`)
        await page.locator('h1').first().waitFor()
        // Pages poll, so wait only for their first responses.
        await page.waitForLoadState('networkidle')
        await page.evaluate(endOfAnimations)
        found.push(...(await accessibilityProblems(page)).map((problem) => `${path}: ${problem}`))
        const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        if (excess > 0) found.push(`${path} is ${excess} px too wide`)
      }
      expect(found).toEqual([])
    },
  )
})

/** The serious and critical findings of axe, one per line. */
async function accessibilityProblems(page) {
  await page.evaluate(AXE)
  const { violations } = await page.evaluate((runOnly) => globalThis.axe.run({ runOnly }), RULES)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

/** Finishes all animations except the endless ones. */
const endOfAnimations = () =>
  Promise.all(
    document
      .getAnimations()
      .filter(({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY)
      .map(({ finished }) => finished.catch(() => {})),
  )
