import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../lib/clock.ts'
import type { NanoUsd } from '../model/money.ts'
import { createLog, type LogLevel } from './log.ts'

const clock: Clock = { now: () => Date.UTC(2026, 10, 20, 12, 1, 22, 5), nowMicros: () => 0 }
const SECRET = 'mr_wallet_7Q2Fabcdefghijklmnopqrstuvwxyz'

let folder: string
let destination: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-log-'))
  destination = openSync(path(), 'a')
})
afterEach(() => {
  closeSync(destination)
  rmSync(folder, { recursive: true, force: true })
})

const path = () => join(folder, 'log')
const open = (format: 'json' | 'pretty', level: LogLevel = 'info') =>
  createLog({ clock }, { level, format, destination })
const text = () => readFileSync(path(), 'utf8')
const lines = () =>
  text()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const finished = {
  request_id: 'req_01k',
  method: 'POST',
  path: '/v1/chat/completions',
  status: 200,
  total_ms: 412,
  user_agent: `OpenAI/JS 6.49 ${SECRET}`,
  account_id: 'acct_1',
  kind: 'wallet',
  delivery: 'stream',
  turn: {
    model: 'demo',
    lane: 'demo/demo',
    outcome: 'completed',
    problem: undefined,
    usage: { uncachedInput: 9, cachedInput: 0, cacheWrite: 0, output: 24, reasoning: 3, estimated: false },
    compaction: { tokensBefore: 48_210, tokensAfter: 2_034 },
    attempts: [
      {
        lane: 'demo/demo',
        outcome: 'finished',
        status: 200,
        ms: 9,
        prefix: { at: 'messages[3]', by: 'client' as const },
      },
    ],
    charge: 12_300n as NanoUsd,
    shortfall: 0n as NanoUsd,
    firstByteMs: 31,
  },
  messages: [{ role: 'user', content: 'never in a log' }],
}

describe('the log as JSON lines', () => {
  it('writes the listed fields of a request and nothing else', async () => {
    const log = open('json')
    log.request(finished)
    await log.close()
    expect(lines()).toEqual([
      {
        level: 'info',
        time: '2026-11-20T12:01:22.005Z',
        msg: 'request',
        request_id: 'req_01k',
        method: 'POST',
        path: '/v1/chat/completions',
        status: 200,
        first_byte_ms: 31,
        total_ms: 412,
        account_id: 'acct_1',
        kind: 'wallet',
        model: 'demo',
        lane: 'demo/demo',
        delivery: 'stream',
        outcome: 'completed',
        input_tokens: 9,
        cached_input_tokens: 0,
        output_tokens: 24,
        reasoning_tokens: 3,
        estimated: false,
        tokens_before: 48_210,
        tokens_after: 2_034,
        prefix_broken_at: 'messages[3]',
        prefix_broken_by: 'client',
        charge: '0.0000123',
        shortfall: '0.00',
        user_agent: 'OpenAI/JS 6.49 mr_wallet_[hidden]',
      },
    ])
  })

  it('writes the code of a refusal', async () => {
    const log = open('json')
    log.request({ request_id: 'req_1', status: 401, code: 'invalid_api_key' })
    log.request({ request_id: 'req_2', status: 429, outcome: 'refused', code: 'rate_limit_exceeded' })
    await log.close()
    expect(lines().map((line) => line.code)).toEqual(['invalid_api_key', 'rate_limit_exceeded'])
  })

  it('warns of a request that cost more than was held for it', async () => {
    const log = open('json')
    const { turn } = finished
    log.request({ request_id: 'req_1', turn: { ...turn, shortfall: 0n as NanoUsd } })
    log.request({ request_id: 'req_2', turn: { ...turn, shortfall: 1n as NanoUsd } })
    await log.close()
    expect(lines().map((line) => [line.request_id, line.level])).toEqual([
      ['req_1', 'info'],
      ['req_2', 'warn'],
    ])
  })

  it('writes errors with their causes and without secrets', async () => {
    const log = open('json')
    const cause = Object.assign(new Error(`connect https://user:pass@host/ with ${SECRET}`), { code: 'ECONNREFUSED' })
    const error = Object.assign(new Error(`provider said ${SECRET}`, { cause }), { request: { headers: SECRET } })
    log.error({ err: error, note: SECRET, nested: { token: [SECRET] } }, `could not call with ${SECRET}`)
    log.request({ request_id: 'req_1', error })
    await log.close()
    const [emitted, request] = lines()
    expect(text()).not.toContain('7Q2F')
    expect(text()).not.toContain('user:pass')
    expect(emitted).toMatchObject({
      level: 'error',
      msg: 'could not call with mr_wallet_[hidden]',
      err: { name: 'Error', message: 'provider said mr_wallet_[hidden]', cause: { code: 'ECONNREFUSED' } },
    })
    expect(emitted.err.request).toBeUndefined()
    expect(request).toMatchObject({ level: 'error', request_id: 'req_1', err: { name: 'Error' } })
  })

  it('writes odd values: loops of causes, odd errors, money, functions, deep facts', async () => {
    const log = open('json')
    const loop = new Error('loop')
    loop.cause = loop
    const deep: Record<string, unknown> = {}
    deep.self = deep
    const facts = {
      err: loop,
      amount: 5n,
      run: () => 1,
      deep,
      bytes: Buffer.alloc(3),
      none: null,
      odd: Object.create(null),
    }
    log.warn(facts, 'odd facts')
    log.error({ err: Object.create(null) }, 'an odd error')
    log.error({ err: new AggregateError([new Error('one'), 'two'], 'both') }, 'many')
    await log.close()
    expect(lines()).toMatchObject([
      { msg: 'odd facts', amount: '5', bytes: '3 bytes', none: null },
      { msg: 'an odd error' },
      { err: { errors: [{ message: 'one' }, { message: 'two' }] } },
    ])
  })

  it('writes nothing below its level and nothing at all when silent', async () => {
    const quiet = open('json', 'warn')
    quiet.info({}, 'not worth it')
    quiet.request(finished)
    quiet.warn({}, 'worth it')
    await quiet.close()
    expect(lines().map((line) => line.msg)).toEqual(['worth it'])
    const silent = open('json', 'silent')
    silent.error({}, 'never')
    await silent.close()
    expect(text()).not.toContain('never')
  })

  it('has written every line when close has resolved', async () => {
    const log = open('json')
    for (let count = 0; count < 20_000; count += 1) log.request({ request_id: `req_${count}`, status: 200 })
    await log.close()
    const ids = lines().map((line) => line.request_id)
    expect(ids.length).toBe(20_000)
    expect(ids.at(-1)).toBe('req_19999')
  })
})

it.each([
  ['json', /"worker":2,"msg":"request"/],
  ['pretty', /^\d\d:\d\d:\d\d {2}worker 2 {2}200 POST/],
] as const)('the log of a worker says which one it is: %s', async (format, expected) => {
  const log = createLog({ clock }, { level: 'info', format, destination, worker: 2 })
  log.request(finished)
  await log.close()
  expect(text()).toMatch(expected)
})

describe('the log for a person', () => {
  it('is one line a request', async () => {
    const log = open('pretty')
    log.request(finished)
    log.request({
      request_id: 'req_2',
      method: 'GET',
      path: '/v1/models',
      status: 401,
      total_ms: 1,
      code: 'missing_api_key',
    })
    log.request({ request_id: 'req_3', code: 'malformed_request' })
    await log.close()
    const time = new Date(clock.now()).toTimeString().slice(0, 8)
    expect(text().split('\n')).toEqual([
      `${time}  200 POST /v1/chat/completions  demo  wallet  stream  9+24 tok  0.0000123  first 31 ms  total 412 ms  req_01k`,
      `${time}  401 GET /v1/models  total 1 ms  missing_api_key  req_2`,
      `${time}  ---  malformed_request  req_3`,
      '',
    ])
  })

  it('shows messages with their facts, and errors below them', async () => {
    const log = open('pretty')
    log.info({ holds: 3 }, 'recovered')
    log.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'failed')
    await log.close()
    expect(text()).toMatch(/^\d\d:\d\d:\d\d {2}recovered {2}holds=3\n/)
    expect(text()).toMatch(/ {2}error {2}failed\n {10}Error: outer\n[\s\S]*because of Error: inner\n/)
  })

  it('lets no client move the cursor of the terminal', async () => {
    const log = open('pretty')
    log.request({ request_id: 'req_1', method: 'GET', path: '/\u001b[2J\r\n\u009b31m\u202e', status: 404 })
    await log.close()
    expect(text()).toContain('GET /?[2J???31m?')
    expect(text().split('\n').length).toBe(2)
  })
})
