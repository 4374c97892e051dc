import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { createAccount, millrace, placeIn, startServer } from '../../program/program.mjs'
import { createCapHistory } from './cap-history.mjs'
import { planRequest } from './plan-request.mjs'
import { configText } from './scene.mjs'

const EMAIL = 'organisation@localhost'
export const CREDIT = '0.60'
const PEOPLE = 200
const TEAMS = 20
const KEYS = 1000
/** What its servers are configured with beside the scene. */
export const SECTIONS = { limits: { keys_per_account: KEYS } }
/** How many requests of the preparation run at once. */
const AT_ONCE = 16
/** Most of the load is that of few people, so that their caps are reached. */
const SKEW = 3

/**
 * One account with one wallet, and its people, teams and keys with caps everywhere. The people are rows, because a sign-up hashes a
 * password, and none of them signs in; all else is made through the management API.
 */
export function prepareOrganisation(random) {
  return async (dist, folder, providerPort, { more, environment } = {}) => {
    const place = placeIn(folder, { dist, environment })
    mkdirSync(folder, { recursive: true })
    writeFileSync(place.config, configText({ metricsPort: 0, providerPort, more: { ...SECTIONS, ...more } }))
    await createAccount(place, { email: EMAIL, credit: CREDIT })
    await insertPeople(place, more?.storage?.database)
    const { secret: adminKey } = await millrace(place, 'admin-keys', 'create', '--name', 'chaos', '--scopes', 'admin')
    const server = startServer(place, {})
    const url = await server.ready
    const history = createCapHistory()
    const call = createCaller(() => url, adminKey)
    const teams = await inParallel(TEAMS, async (index) => {
      const caps = capsOfTeam(random.fork(10_000 + index))
      const { id } = await call('POST', `accounts/${EMAIL}/teams`, { name: `team ${index}`, caps })
      return history.begin('team', id, caps)
    })
    const people = await inParallel(PEOPLE, async (index) => {
      const caps = capsOfPerson(random.fork(20_000 + index))
      const { id } = await call('PATCH', `people/${emailOf(index)}/caps`, caps)
      return history.begin('person', id, caps)
    })
    const keys = await inParallel(KEYS, async (index) => {
      const caps = capsOfKey(random.fork(30_000 + index))
      const [person, team] = [index % PEOPLE, Math.floor((index % PEOPLE) / (PEOPLE / TEAMS))]
      const owners = { person: emailOf(person), team: teams[team] }
      const terms = { account: EMAIL, kind: 'wallet', name: `key ${index}`, ...owners, caps }
      const {
        key: { id },
        secret,
      } = await call('POST', 'keys', terms)
      history.begin('key', id, caps)
      return { id, secret }
    })
    server.kill('SIGTERM')
    await server.ended
    return [{ email: EMAIL, credit: CREDIT, kind: 'wallet', share: 1, adminKey, history, teams, people, keys }]
  }
}

const emailOf = (index) => `person-${index}@localhost`

async function insertPeople({ dist, data }, url) {
  const load = (file) => import(pathToFileURL(join(dist, file)).href)
  const { systemClock: clock } = await load('lib/clock.js')
  const database =
    url === undefined
      ? await (await load('db/open-database.js')).openDatabase({ path: join(data, 'ledger.db'), clock })
      : await (await load('db/postgres/open-database.js')).openPostgres({ url, onTrouble() {}, mayLoseCommits: true })
  const [{ row }] = await database.file.all('SELECT row FROM accounts WHERE email = ?', [EMAIL])
  const sql = `INSERT INTO people (id, email, role, account, password, created_at, password_changed_at)
    VALUES (?, ?, 'member', ?, 'none', ?, ?)`
  const rows = Array.from({ length: PEOPLE }, (_, index) => [`usr_chaos${index}`, emailOf(index), row, 1, 1])
  await database.file.atomic([{ sql, rows }])
  await database.close()
}

async function inParallel(count, make) {
  const made = []
  let next = 0
  const loop = async () => {
    for (let index = next++; index < count; index = next++) made[index] = await make(index)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, loop))
  return made
}

const usd = (random, low, high) => random.between(low, high).toFixed(6)
const whole = (random, low, high) => Math.floor(random.between(low, high))

const capsOfTeam = (random) => ({
  ...{ day: usd(random, 0.006, 0.03), week: usd(random, 0.02, 0.08), total: usd(random, 0.06, 0.2) },
  ...(random.chance(0.3) && { month: usd(random, 0.03, 0.1) }),
  ...(random.chance(0.3) && { quarter: usd(random, 0.05, 0.15) }),
  ...(random.chance(0.4) && { requests_day: whole(random, 40, 200) }),
  ...(random.chance(0.4) && { tokens_day: whole(random, 2000, 9000) }),
})

const capsOfPerson = (random) => ({
  ...{ day: usd(random, 0.0015, 0.008) },
  ...(random.chance(0.3) && { week: usd(random, 0.004, 0.02) }),
  ...(random.chance(0.3) && { month: usd(random, 0.006, 0.03) }),
  ...(random.chance(0.3) && { total: usd(random, 0.01, 0.04) }),
  ...(random.chance(0.3) && { requests_day: whole(random, 8, 60) }),
  ...(random.chance(0.3) && { tokens_day: whole(random, 400, 3000) }),
})

const capsOfKey = (random) =>
  random.chance(0.5)
    ? {}
    : {
        ...(random.chance(0.4) && { day: usd(random, 0.0006, 0.004) }),
        ...(random.chance(0.3) && { week: usd(random, 0.001, 0.008) }),
        ...(random.chance(0.3) && { month: usd(random, 0.002, 0.01) }),
        ...(random.chance(0.3) && { total: usd(random, 0.002, 0.02) }),
        ...(random.chance(0.5) && { requests_day: whole(random, 2, 20) }),
        ...(random.chance(0.5) && { tokens_day: whole(random, 100, 900) }),
      }

/** A request of the chaos load, on one key of the organisation, without an Idempotency-Key and without a run, whose caps are not its matter. */
export function planOrganisationRequest(random, accounts) {
  const { once: _, run: __, ...planned } = planRequest(random, accounts)
  const person = Math.floor(PEOPLE * random.between(0, 1) ** SKEW)
  const key = accounts[0].keys[person + PEOPLE * random.below(KEYS / PEOPLE)]
  return { ...planned, key: key.secret, keyId: key.id }
}

const AGAIN_MS = 50

/**
 * A call of the management API, repeated until a server has answered it: none that is made while servers are killed does more when it is
 * made twice. A refusal is thrown.
 */
export const createCaller = (baseUrl, adminKey) => async (method, path, body) => {
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  for (;;) {
    const response = await fetch(`${baseUrl()}/admin/v1/${path}`, {
      method,
      headers,
      body: JSON.stringify(body),
    }).catch(() => undefined)
    const answer = await response?.json().catch(() => undefined)
    if (answer !== undefined && response.ok) return answer
    if (answer !== undefined && response.status < 500) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    await sleep(AGAIN_MS)
  }
}
