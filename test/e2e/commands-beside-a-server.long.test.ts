import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  commandAt,
  createAccount,
  createKey,
  millrace,
  placeIn,
  runCommand,
  startServer,
  verifyLedger,
} from '../program/program.mjs'
import { hello } from '../support/send-chat.ts'
import { TEST_CONFIG, withoutStrain } from '../support/test-config.ts'
import { until } from '../support/until.ts'

interface Top {
  readonly requests: number
  readonly output_tokens: number
  readonly models: unknown
  readonly lanes: readonly unknown[]
}

let folder: string
let place: ReturnType<typeof placeIn>
let server: ReturnType<typeof startServer>
let url: string
let key: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-beside-'))
  place = placeIn(folder)
  writeFileSync(place.config, withoutStrain(`${TEST_CONFIG}\nserver: { metrics_port: 0 }\n`))
  await createAccount(place, { email: 'a@b.c' })
  key = (await createKey(place, { email: 'a@b.c' })).key
  server = startServer(place)
  url = await server.ready
}, 120_000)
afterAll(async () => {
  server.kill('SIGKILL')
  await server.ended
  rmSync(folder, { recursive: true })
})

async function sendChat(words: string): Promise<string> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'swift', messages: hello(words) }),
  })
  await response.text()
  return response.headers.get('x-request-id')!
}

describe('beside a running server', { timeout: 240_000 }, () => {
  it('logs --follow shows each request as it ends, until the server stops', async () => {
    const child = spawn(process.execPath, commandAt(place, 'logs', '--follow', '--account', 'a@b.c', '--json'))
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    // Until the first look there is nothing to follow, so requests are sent until one is shown.
    const sent: string[] = []
    await until(async () => {
      sent.push(await sendChat('one'))
      return sent.some((id) => out.includes(id))
    })
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines[0]).toMatchObject({ msg: 'request', status: 200, model: 'swift', outcome: 'completed' })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    child.kill('SIGINT')
    await ended
  })

  it('top --once measures what it serves', async () => {
    let stopped = false
    const load = (async () => {
      while (!stopped) await sendChat('count to 20')
    })()
    const view = await millrace<Top>(place, 'top', '--once', '--interval', '1')
    stopped = true
    await load
    expect(view).toMatchObject({ models: [{ model: 'swift', failed: 0 }] })
    expect(view.requests).toBeGreaterThan(0)
    expect(view.output_tokens).toBeGreaterThan(0)
    expect(view.lanes[0]).toMatchObject({ failed: 0, circuit_open: null })
  })

  it('usage adds up to what wallet and receipts say', async () => {
    const { items } = await millrace<{ items: { used: unknown }[] }>(place, 'usage')
    const report = await millrace<{ total: { wallet: string }; table: unknown }>(place, 'usage', 'a@b.c', '--by', 'key')
    const { balance } = await millrace(place, 'wallet', 'show', 'a@b.c')
    expect(items).toHaveLength(1)
    expect(items[0]!.used).toEqual(report.total)
    expect(report.table).toMatchObject([{ name: 'test', used: report.total }])
    expect(1000 - Number(report.total.wallet)).toBeCloseTo(Number(balance), 9)
    const csv = await runCommand(place, ['usage', 'a@b.c', '--csv'])
    expect(csv.out.split('\n')[0]).toMatch(/^begins_at,model,name,requests,/)
  })

  it('db backup copies it while it serves, and a restored folder balances', async () => {
    let stopped = false
    const load = (async () => {
      while (!stopped) await sendChat('count to 20')
    })()
    const to = join(folder, 'backup')
    const report = await millrace<{ counts: { receipts: number } }>(place, 'db', 'backup', '--to', to)
    stopped = true
    await load
    expect(report.counts.receipts).toBeGreaterThan(0)
    const restored = { ...place, data: join(folder, 'restored') }
    const { warnings } = await millrace(restored, 'db', 'restore', '--from', to)
    expect(warnings).toEqual([expect.stringContaining(place.data)])
    expect(await verifyLedger(restored)).toMatchObject({ ok: true, receipts: report.counts.receipts })
    const log = readdirSync(place.data).filter((name) => name.endsWith('.log-1'))
    expect(log).toEqual([])
  })

  it('a backup that is killed leaves no backup, and the server takes another one', async () => {
    const to = join(folder, 'killed')
    const child = spawn(process.execPath, commandAt(place, 'db', 'backup', '--to', to), { stdio: 'ignore' })
    const isBegun = () => readdirSync(folder).some((name) => name.startsWith('killed.partial-'))
    await until(isBegun)
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    expect(existsSync(to)).toBe(false)
    const partial = readdirSync(folder).filter((name) => name.startsWith('killed.partial-'))
    for (const name of partial) expect(existsSync(join(folder, name, 'backup.json'))).toBe(false)
    const refused = await runCommand({ ...place, data: join(folder, 'none') }, [
      'db',
      'restore',
      '--from',
      join(folder, partial[0]!),
    ])
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('unfinished') })
    expect(await millrace(place, 'db', 'backup', '--to', to)).toMatchObject({ folder: to })
    expect(readdirSync(folder).filter((name) => name.includes('.partial-'))).toEqual([])
  })

  it('status, top and logs exit with 3 once it has stopped', async () => {
    server.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
    for (const words of [['status'], ['top', '--once'], ['logs', '--follow']])
      expect((await runCommand(place, words)).code, words[0]).toBe(3)
  })
})
