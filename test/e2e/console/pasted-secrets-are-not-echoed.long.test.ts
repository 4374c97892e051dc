import { randomBytes, randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RouteName } from '../../../src/contract/console-api.ts'
import { type ConsolePerson, openBrowser, PASSWORD } from '../../support/console-session.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'
import { ROUTE_NAMES, SAMPLES } from './routes-with-samples.ts'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const letters = (count: number) => Array.from({ length: count }, () => ALPHABET[randomInt(32)]).join('')
const hex = () => randomBytes(16).toString('hex')

/** As people paste them where an id belongs. */
const SECRETS: Readonly<Record<string, string>> = {
  'a key of ours': `mr_wallet_Aa1${hex()}`,
  'a key of a kind that we do not have': `mr_live_${hex()}`,
  'a key of a provider': `sk-proj-${hex()}`,
  'a redemption code': `MR-${[1, 2, 3, 4, 5].map(() => letters(5)).join('-')}`,
  'the code of a link': [1, 2, 3, 4, 5, 6].map(() => letters(4)).join('-'),
}
/** It has no known shape. The log hides it, because it is no text that the program wrote itself. */
const CANARY = `Wq7${hex()}`

let server: SpawnedServer
let operator: ConsolePerson

beforeAll(async () => {
  server = await spawnServer({ config: 'telemetry: { log: { level: info } }\n' })
  const { link } = await server.json('people', 'invite', 'owner@example.com', '--role', 'operator')
  operator = openBrowser(server)
  const code = new URL(String(link)).searchParams.get('code')!
  await operator.call('POST /sign-up', { body: { code, password: PASSWORD } })
})

afterAll(() => server.close())

const BY_ID = ROUTE_NAMES.filter((name) => name.startsWith('GET') && name.includes(':'))

const v1Paths = (secret: string) => [`/v1/requests/${secret}`, `/v1/responses/${secret}`, `/v1/nothing/${secret}`]

async function answersTo(secret: string): Promise<string[]> {
  const root = server.baseUrl.slice(0, -'/v1'.length)
  const headers = { authorization: `Bearer ${server.key}` }
  const receivedRequest = await Promise.all(v1Paths(secret).map((path) => fetch(root + path, { headers })))
  const page = await fetch(`${root}/console/requests/${secret}`)
  const reported = await Promise.all(
    BY_ID.map((name: RouteName) => {
      const part = /:(\w+)/.exec(name)![1]!
      return operator.send(name, {
        params: { [part]: secret },
        query: (SAMPLES[name].query ?? {}) as Record<string, string>,
      })
    }),
  )
  const filtered = await operator.send('GET /requests', { query: { key: secret } })
  for (const { status } of [...receivedRequest, ...reported, filtered]) expect(status).toBe(404)
  const v1Texts = await Promise.all(receivedRequest.map((answer) => answer.text()))
  return [...v1Texts, await page.text(), filtered.text, ...reported.map(({ text }) => text)]
}

/** Lines are written in the order of the answers. */
async function everythingLogged() {
  const last = `/v1/last-${randomInt(1_000_000)}`
  await fetch(server.baseUrl.slice(0, -'/v1'.length) + last)
  await until(() => server.logged('request').some(({ path }) => path === last))
}

it.each(Object.entries(SECRETS))('%s appears in no error and no log line', async (_, secret) => {
  const answers = await answersTo(secret)
  await everythingLogged()
  const tail = secret.slice(-12)
  for (const answer of answers) expect(answer).not.toContain(tail)
  expect(server.output()).not.toContain(tail)
})

it('an unrecognized secret appears in no log line', async () => {
  await answersTo(CANARY)
  await everythingLogged()
  expect(server.output()).not.toContain(CANARY.slice(-12))
  const paths = server.logged('request').map(({ path }) => path)
  expect(paths).toContain('/v1/requests/[hidden]')
  expect(paths).toContain('/console/api/requests/[hidden]')
})

it('the CLI does not echo it', async () => {
  const secret = SECRETS['a key of a provider']!
  for (const command of [['keys', 'show'], ['accounts', 'show'], ['trace'], ['codes', 'withdraw']]) {
    const { code, out, err } = await server.run(...command, secret)
    expect(code).not.toBe(0)
    expect(out + err).not.toContain(secret.slice(-12))
  }
})
