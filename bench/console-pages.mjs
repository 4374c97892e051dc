// What every query of the console takes on a large installation, as its pages send it: with default parameters, filters,
// searches and ranges, as an owner and as an operator. Prints the median and the 95th percentile of each, the CPU time that the
// server needs for one (without PostgreSQL's), which a busy machine changes little, and what is above the goal.
//
//   npm run bench -- console-pages FOLDER [--rounds 7] [--goal-ms 300] [--postgres URL] [--only REGEXP]
//
// FOLDER is one of `test/browser/seed-year.mjs FOLDER --accounts 501 --keys 10000`, with no server on it; two people are added.
// `--postgres` first moves a copy of the folder to this empty database.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { CONSOLE_API } from '../dist/contract/console-api.js'
import { millrace, placeIn, runCommand, startServer } from '../test/program/program.mjs'
import { cpuMicros, describeMachine } from './lib/measure.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '7' },
    'goal-ms': { type: 'string', default: '300' },
    postgres: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const [seeded] = positionals
if (seeded === undefined) throw new Error('Which folder?')
const ROUNDS = Number(options.rounds)
const GOAL_MS = Number(options['goal-ms'])
const ONLY = new RegExp(options.only)
const PASSWORD = 'a password for a bench'
const DAY = 86_400_000
/** There is no payment without a provider of them, and no entry that operators manage. */
const WITHOUT_ROWS = ['GET /payments/:payment', 'GET /operate/managed/history']
/** Of streams without an end only the first part is awaited. */
const STREAMS = /^GET .*(statement|operate\/requests|audit)\.csv$/

const { email } = JSON.parse(readFileSync(join(seeded, 'seed.json'), 'utf8'))
const day = (days) => new Date(Date.now() + DAY - days * DAY).toISOString().slice(0, 10)
const range = (days) => ({ from: day(days), to: day(0), zone: 'Asia/Kolkata' })
const lastWeek = { from: day(207), to: day(200), zone: 'Asia/Kolkata' }

const moved = options.postgres === undefined ? undefined : await moveToPostgres()
const place = placeIn(moved ?? seeded)
const owner = (await millrace(place, 'people', 'invite', `owner-${Date.now()}@localhost`, '--account', email)).link
const operator = (
  await millrace(
    place,
    'people',
    'invite',
    `operator-${Date.now()}@localhost`,
    '--role',
    'operator',
    '--account',
    email,
  )
).link
const server = startServer(place, { logPath: join(moved ?? seeded, 'log') })
try {
  const origin = new URL(await server.ready).origin
  const cookies = { owner: await signUp(origin, owner), operator: await signUp(origin, operator) }
  console.log(
    `# console-pages: ${describeMachine()}, load ${loadavg()[0].toFixed(1)}, ${moved ? 'PostgreSQL' : 'SQLite'}\n`,
  )
  if (ONLY.test('GET /operate/overview')) await untilCounted(origin, cookies.operator)
  await measureAll(origin, cookies, server.pid)
} finally {
  server.kill('SIGTERM')
  await server.ended
  if (moved) rmSync(moved, { recursive: true, force: true, maxRetries: 5 })
}

async function moveToPostgres() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  cpSync(seeded, folder, { recursive: true })
  const { config } = placeIn(folder)
  const moved = await runCommand(placeIn(folder), ['db', 'move', '--to', options.postgres])
  if (moved.code !== 0) throw new Error(`db move: ${moved.err}${moved.out}`)
  writeFileSync(config, `${readFileSync(config, 'utf8')}storage: { database: "${options.postgres}" }\n`)
  return folder
}

async function signUp(origin, link) {
  const code = /[^/#?=]+$/.exec(link.trim())[0]
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', origin }
  const body = JSON.stringify({ code, password: PASSWORD })
  const response = await fetch(`${origin}/console/api/sign-up`, { method: 'POST', headers, body })
  if (!response.ok) throw new Error(`the sign-up failed: ${await response.text()}`)
  return response.headers.getSetCookie()[0].split(';')[0]
}

/** The server counts what it served in the background, from the first receipt on a new folder. */
async function untilCounted(origin, cookie) {
  for (;;) {
    const { text } = await ask(origin, cookie, 'GET /operate/overview', { query: { ...range(30), step: 'day' } })
    if (JSON.parse(text).complete) return
    await sleep(2000)
  }
}

async function ask(origin, cookie, name, { params = {}, query = {} }) {
  const path = name.slice('GET '.length).replace(/:(\w+)/g, (_, key) => params[key])
  for (;;) {
    const began = performance.now()
    const response = await fetch(`${origin}/console/api${path}?${new URLSearchParams(query)}`, { headers: { cookie } })
    const text = STREAMS.test(name) ? await firstPartOf(response) : await response.text()
    const ms = performance.now() - began
    if (response.ok || (response.status === 400 && text.includes('The export has more than'))) return { text, ms }
    if (response.status !== 429) throw new Error(`${name} ${JSON.stringify(query)}: ${response.status} ${text}`)
    await sleep(1000)
  }
}

async function firstPartOf(response) {
  const reader = response.body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return Buffer.from(value ?? []).toString()
}

async function idsOf(origin, { owner, operator }) {
  const first = async (cookie, name, query = {}) => JSON.parse((await ask(origin, cookie, name, { query })).text)
  const [keys, requests, plan, teams, members] = await Promise.all([
    first(owner, 'GET /keys'),
    first(owner, 'GET /requests', { kind: 'wallet', limit: 200 }),
    first(owner, 'GET /plan'),
    first(owner, 'GET /teams'),
    first(owner, 'GET /members'),
  ])
  const { items: accounts } = await first(operator, 'GET /operate/accounts', { search: email })
  return {
    account: accounts.find((account) => account.email === email).id,
    other: (await first(operator, 'GET /operate/accounts')).items[0].id,
    key: keys.items[0].id,
    busy: requests.items[0].key.id,
    request: requests.items.at(-1).id,
    window: (plan.windows.find(({ opened }) => opened) ?? plan.past[0])?.id,
    team: teams.items[0]?.id,
    person: members.items[0].id,
  }
}

/** What the pages send, by route: of routes that are not named, nothing but their path. */
function variantsOf({ account, other, busy, request, team, person }) {
  const usage = [
    { ...range(30), step: 'day', by: 'model' },
    ...['model', 'key', 'person', 'team', 'tag:repo', 'kind'].map((by) => ({ ...range(366), step: 'day', by })),
    { ...range(366), step: 'day', by: 'model', key: busy },
    { ...range(366), step: 'month', by: 'key', model: 'fast-coder' },
    { ...range(15), step: 'hour', by: 'key' },
    ...(team
      ? [
          { ...range(366), step: 'day', by: 'key', team },
          { ...range(366), step: 'month', by: 'model', team },
          { ...range(30), step: 'day', by: 'model', team },
        ]
      : []),
  ]
  const served = [range(7), range(30), range(366), lastWeek].map((days) => ({ ...days, step: 'day' }))
  const statement = [
    {},
    { by: 'day', zone: 'Asia/Kolkata', limit: 50 },
    { by: 'day', ...range(366), limit: 200 },
    { by: 'day', kind: 'charge', ...lastWeek },
    { kind: 'refund', limit: 50 },
    { kind: 'charge', ...lastWeek, limit: 50 },
  ]
  const invoices = [{ month: day(40).slice(0, 7), zone: 'Asia/Kolkata' }, range(366)]
  return {
    'GET /usage': usage,
    'GET /usage.csv': usage,
    'GET /usage/refused': [
      { ...range(366), step: 'day' },
      { ...range(30), step: 'day' },
    ],
    'GET /overview/usage': [{ zone: 'Asia/Kolkata' }],
    'GET /keys': [
      { limit: 200 },
      { search: 'key 49', limit: 200 },
      { search: 'none at all', limit: 200 },
      { person },
      ...(team ? [{ team }] : []),
    ],
    'GET /requests': [
      ...[{}, { key: busy }, { model: 'rarely-used' }, { model: 'nobody-asked-for' }, { outcome: 'not_ok' }],
      ...[{ outcome: 'running' }, { kind: 'builder' }, { tag: 'branch:b7' }, { tag: 'branch:none' }],
      ...[
        { key: busy, outcome: 'not_ok', model: 'tiny' },
        { ...lastWeek, kind: 'wallet' },
        { ...lastWeek, model: 'rarely-used' },
      ],
    ].map((filter) => ({ ...filter, limit: 50 })),
    'GET /members': [{ limit: 200 }],
    'GET /teams': [{ limit: 200 }],
    'GET /wallet/statement': statement,
    'GET /wallet/statement.csv': [{}, { by: 'day', ...range(366) }],
    'GET /invoice': invoices,
    'GET /invoice.csv': invoices,
    'GET /operate/overview': served,
    'GET /operate/requests': [
      ...[
        {},
        { account },
        { account: other },
        { key: busy },
        { id: request },
        { status: 'not_ok' },
        { status: 'running' },
      ],
      ...[{ model: 'rarely-used', status: 'not_ok' }, { model: 'nobody-asked-for' }, { lane: 'demo/none' }],
      ...[lastWeek, { ...lastWeek, account, status: 'not_ok' }, { min_charge: '900' }, { account, min_charge: '900' }],
    ].map((filter) => ({ ...filter, limit: 50 })),
    'GET /operate/requests.csv': [{}, { model: 'nobody-asked-for', ...lastWeek }],
    'GET /operate/audit': [{}, { actor: 'nobody', ...range(366) }, { action: 'key_created' }],
    'GET /operate/accounts': [{}, { search: 'account-4' }, { search: 'none at all' }, { search: account }],
    'GET /operate/accounts/:account/keys': [{ limit: 200 }, { search: 'none at all' }],
    'GET /operate/accounts/:account/usage': usage,
    'GET /operate/accounts/:account/usage.csv': [usage[0]],
    'GET /operate/accounts/:account/statement': statement,
    'GET /operate/accounts/:account/statement.csv': [{}],
    'GET /operate/accounts/:account/invoice': invoices,
    'GET /operate/accounts/:account/invoice.csv': invoices,
    'GET /operate/payments': [{}, { owed: 'true' }],
  }
}

async function measureAll(origin, cookies, pid) {
  const ids = await idsOf(origin, cookies)
  const variants = variantsOf(ids)
  const names = Object.keys(CONSOLE_API).filter((name) => name.startsWith('GET ') && !WITHOUT_ROWS.includes(name))
  const slow = []
  console.log('| query | as | median ms | p95 ms | cpu ms | kB |\n|---|---|---|---|---|---|')
  for (const name of names.filter((each) => ONLY.test(each))) {
    if (/:(webhook|conversation|run\b)/.test(name) || (name.includes(':window') && ids.window === undefined)) continue
    if (name.includes(':team') && ids.team === undefined) continue
    const as = CONSOLE_API[name].who === 'operator' ? 'operator' : 'owner'
    for (const query of variants[name] ?? [{}]) {
      const took = []
      let size = 0
      let before = 0
      for (let round = 0; round <= ROUNDS; round++) {
        const { ms, text } = await ask(origin, cookies[as], name, { params: ids, query })
        // The first one warms the caches, as for a person who opens the next page.
        if (round > 0) took.push(ms)
        else before = cpuMicros(pid)
        size = text.length
      }
      const cpu = (cpuMicros(pid) - before) / 1000 / ROUNDS
      took.sort((one, two) => one - two)
      const [median, p95] = [0.5, 0.95].map((share) => took[Math.ceil(took.length * share) - 1])
      const label = `${name.slice(4)} ${new URLSearchParams(query)}`.trim()
      // A download is not what a page waits for.
      if (median > GOAL_MS && !name.endsWith('.csv')) slow.push(label)
      console.log(
        `| ${label} | ${as} | ${median.toFixed(1)} | ${p95.toFixed(1)} | ${cpu.toFixed(0)} | ${(size / 1000).toFixed(0)} |`,
      )
    }
  }
  console.log(
    `\n${slow.length === 0 ? 'none' : slow.length} above ${GOAL_MS} ms${slow.map((label) => `\n- ${label}`).join('')}`,
  )
}
