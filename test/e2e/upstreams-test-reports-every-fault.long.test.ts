import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { createServer as createPlainServer } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Server as NetServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LaneTest } from '../../src/admin/test-lanes.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { createCertificate } from '../fixtures/providers/certificate.ts'
import type { Ended } from '../program/program.mjs'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { addresses, CASES, configOf, KEY } from './lane-cases.ts'

const closes: (() => unknown)[] = []
const CA_FILE = join(tmpdir(), `millrace-ca-${process.pid}.pem`)

async function listening(server: NetServer) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closes.push(() => server.close())
  return (server.address() as AddressInfo).port
}

let server: SpawnedServer
let ended: Ended
let report: { ok: boolean; lanes: LaneTest[] }
const fars = new Map<string, FaultUpstream>()

beforeAll(async () => {
  const trusted = createCertificate('localhost')
  const expired = createCertificate('localhost', { to: '20210101000000Z' })
  const otherName = createCertificate('far.example')
  const serve = (pair: object) => createServer(pair, (_, response) => response.writeHead(404).end())
  addresses.plain = await listening(createPlainServer((_, response) => response.end()))
  addresses.untrusted = await listening(serve(createCertificate('localhost')))
  addresses.trusted = await listening(serve(trusted))
  addresses.expired = await listening(serve(expired))
  addresses.otherName = await listening(serve(otherName))
  await writeFile(CA_FILE, [trusted, expired, otherName].map(({ cert }) => cert).join(''))
  closes.push(() => rm(CA_FILE))
  for (const { id, script } of CASES) {
    if (script === undefined) continue
    const far = await startFaultUpstream(() => script)
    fars.set(id, far)
    closes.push(() => far.close())
  }
  const environment = { NODE_EXTRA_CA_CERTS: CA_FILE }
  server = await spawnServer({ config: configOf((id) => fars.get(id)?.baseUrl ?? ''), environment })
  closes.push(() => server.close())
  ended = await server.run('upstreams', 'test', '--json')
  report = JSON.parse(ended.out)
}, 60_000)
afterAll(async () => {
  for (const close of closes.reverse()) await close()
})

const testOf = (lane: string): LaneTest => {
  const test = report.lanes.find((each) => each.lane === lane)
  if (!test) throw new Error(`${lane} was not tested: ${ended.err}`)
  return test
}

describe('upstreams test', () => {
  it.each(CASES)('reports for $id: $finds', ({ id, finds, message = /./, others }) => {
    const test = testOf(`${id}/model`)
    expect(test.finding).toMatch(new RegExp(`^${finds}$`))
    expect(`${test.message}\n${test.cure}`).toMatch(message)
    expect(test.ok).toBe(finds === 'answered')
    if (others !== undefined) expect(testOf(`${id}/model-too`).finding).toBe(others)
    if (others === 'not-asked') expect(fars.get(id)?.providerAnswers.length ?? 1).toBe(1)
  })

  it('shows latency, usage and the model’s name', () => {
    const answered = report.lanes.filter(({ finding }) => finding === 'answered')
    expect(answered.length).toBeGreaterThanOrEqual(3)
    for (const { first_word_ms, total_ms, input_tokens, output_tokens, answers_as, refused_fields, lane } of answered) {
      expect(total_ms).toBeGreaterThanOrEqual(first_word_ms ?? -1)
      expect([typeof first_word_ms, input_tokens, output_tokens]).toEqual([
        'number',
        expect.any(Number),
        expect.any(Number),
      ])
      expect(answers_as).toBe('model')
      expect(refused_fields).toEqual(lane === 'other-cap/model' ? ['max_tokens'] : [])
    }
  })

  it('sends a small streamed request', () => {
    const [receivedRequest] =
      fars.get('chat')?.providerAnswers.map((providerAnswer) => providerAnswer.receivedRequest) ?? []
    expect(receivedRequest).toMatchObject({ stream: true, max_tokens: 16, messages: [{ role: 'user' }] })
    expect(Object.keys(receivedRequest ?? {})).not.toContain('reasoning_effort')
  })

  it('shows the address, never a credential', () => {
    expect(testOf('page/model').url).toBe(`${fars.get('page')?.baseUrl}/chat/completions`)
    expect(testOf('responses/model').url).toMatch(/\/v1\/responses$/)
    expect(ended.out + ended.err).not.toContain(KEY)
    expect(testOf('key-wrong/model').provider_says).toMatch(/^Incorrect API key provided: \[/)
  })

  it('sets the exit code; an upstream without lanes is fine', () => {
    expect([ended.code, report.ok]).toEqual([5, false])
    expect(report.lanes.find(({ upstream }) => upstream === 'idle')).toMatchObject({
      lane: null,
      ok: true,
      finding: 'no-lane',
    })
  })

  it('selects by upstream, model or lane', async () => {
    const { code, out, err } = await server.run('upstreams', 'test', 'chat', 'responses/model', 'other-cap-model')
    expect([code, out.split('\n').filter((line) => line.startsWith('ok')).length]).toEqual([0, 3])
    expect(out).toMatch(
      /^ok {4}chat\/model {2}answered; first token \d+ ms, total \d+ ms; \d+ tokens in, \d+ out; model model$/m,
    )
    expect(err).toMatch(/charged to no account.*All lanes passed/s)
    const wrong = await server.run('upstreams', 'test', 'respones')
    expect([wrong.code, wrong.err, wrong.out]).toEqual([2, expect.stringMatching(/Perhaps responses\?/), ''])
  })

  it('shows the message, the address and the fix for a failing lane', async () => {
    const { code, out } = await server.run('upstreams', 'test', 'key-wrong')
    expect(code).toBe(5)
    expect(out.split('\n').slice(0, 5)).toEqual([
      'FAIL  key-wrong/model  it rejects the key (401)',
      expect.stringMatching(/^ {6}request: POST http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions$/),
      expect.stringMatching(/^ {6}provider: Incorrect API key/),
      expect.stringMatching(/^ {6}The api_key is wrong/),
      expect.stringMatching(/^FAIL {2}key-wrong\/model-too {2}skipped/),
    ])
  })

  it('works beside a running server and leaves no trace in the ledger', async () => {
    const status = await server.json('status')
    expect([status.running, status.requests_served]).toEqual([true, 0])
    expect(await server.json('db', 'verify')).toMatchObject({ ok: true })
  })

  it('lists providers without calling them', async () => {
    const before = [...fars.values()].reduce((sum, { providerAnswers }) => sum + providerAnswers.length, 0)
    const { upstreams } = (await server.json('upstreams', 'list')) as { upstreams: { id: string; has_key: boolean }[] }
    expect(upstreams.find(({ id }) => id === 'chat')).toMatchObject({
      wire: 'chat',
      has_key: true,
      lanes: [{ id: 'chat/model' }],
    })
    expect(upstreams.find(({ id }) => id === 'idle')).toMatchObject({ has_key: false, lanes: [] })
    expect((await server.run('upstreams', 'list')).out).toMatch(/^chat +chat +generic +http.* +configured +model$/m)
    expect([...fars.values()].reduce((sum, { providerAnswers }) => sum + providerAnswers.length, 0)).toBe(before)
  })
})
