import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { Agent, get } from 'node:https'
import { dirname, join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ServerStatus } from '../../src/admin/server-status.ts'
import { createCertificate } from '../fixtures/providers/certificate.ts'
import { findPostgresPrograms, type PostgresServer, startPostgres } from '../program/postgres.mjs'
import { commandAt, millrace, runCommand, startServer } from '../program/program.mjs'
import { createServerWithWorkers, openTurn } from '../support/server-with-workers.ts'
import { until } from '../support/until.ts'

/** New connections that reach each of two workers several times, because they take turns. */
const CONNECTIONS = 6

/** As it is shipped, the server refuses a PostgreSQL without fsync, so it is one of this file. */
const programs = findPostgresPrograms()
let postgres: PostgresServer
let scene: Awaited<ReturnType<typeof createServerWithWorkers>>

describe.skipIf(programs === undefined)('a server with two workers', () => {
  beforeAll(async () => {
    postgres = await startPostgres(programs!, { fsync: true })
  })
  afterAll(() => postgres?.stop())
  beforeEach(async () => {
    scene = await createServerWithWorkers(postgres)
  })
  afterEach(() => scene.close())

  describe('of which the first cannot start again', () => {
    const RING = 'key_ring: { secret_key: the-secret-of-the-key-ring-of-this-test }\n'
    const OTHER_RING = 'key_ring: { secret_key: another-secret-that-the-database-has-not }\n'

    it('is still one server to operator commands', async () => {
      const server = await scene.start(2, RING)
      const [first, second] = await server.allReady(2)
      const key = await server.openAccount()
      const logs = followLogs()
      const turnsUntil = (isSeen: () => boolean) =>
        until(async () => {
          await (await openTurn(server, key)).ended
          return isSeen()
        })
      await turnsUntil(() => logs.workers().has(1) && logs.workers().has(2))

      await scene.configure(2, OTHER_RING)
      process.kill(first!.pid, 'SIGKILL')
      await until(() => server.logged('is started again').length >= 2)
      const status = await statusOf('--ready')
      expect(status).toMatchObject({ running: true, pid: server.process.pid, ledger_available: true })
      expect(status.workers?.map(({ pid }) => pid)).toEqual([second!.pid])
      const top = millrace(scene.place, 'top', '--once', '--interval', '1')
      await turnsUntil(() => logs.child.exitCode !== null || logs.workers().has(2))
      expect(await top).toMatchObject({ seconds: expect.any(Number), models: [{ model: 'swift' }] })
      expect((await runCommand(scene.place, ['accounts', 'list'])).out).toContain('owner@example.com')

      await scene.configure(2, RING)
      await server.allReady(2)
      logs.forget()
      await turnsUntil(() => logs.workers().has(1) && logs.workers().has(2))
      server.process.kill('SIGTERM')
      expect((await server.process.ended).code).toBe(0)
      expect(await logs.ended).toBe(3)
      expect((await runCommand(scene.place, ['status', '--ready'])).code).toBe(3)
    }, 150_000)
  })

  it('shows with top what both of them did, once', async () => {
    const server = await scene.start(2)
    await server.allReady(2)
    const key = await server.openAccount()
    await (await openTurn(server, key)).ended
    const reading = millrace<TopView>(scene.place, 'top', '--once', '--interval', '2')
    let isOver = false
    void reading.finally(() => {
      isOver = true
    })
    let turns = 0
    for (; !isOver; turns += 1) await (await openTurn(server, key)).ended
    const view = await reading
    const swift = view.models[0]!
    // Turns before the first look and after the second are not in it.
    expect(swift.turns).toBeGreaterThan(0)
    expect(swift.turns * view.seconds).toBeLessThanOrEqual(turns * 1.05)
    expect(Math.abs(view.requests - swift.turns)).toBeLessThan(1)
  })

  it('serves TLS with both, and both take a renewed certificate', async () => {
    const [old, renewed] = [createCertificate('localhost'), createCertificate('localhost')]
    await writePair(old)
    const server = await scene.start(2, '', ', tls: { cert: cert.pem, key: key.pem }')
    expect(server.url).toMatch(/^https:/)
    await server.allReady(2)
    const shown = await certificatesOf(server)
    expect(shown.size).toBe(1)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    expect(await statusOver(server, agent, old.cert)).toBe(200)

    await writePair(renewed)
    const reloadedBy = (message: string) => new Set(server.logged(message).map(({ worker }) => worker))
    await until(() => reloadedBy('was reloaded').size === 2)
    const now = await certificatesOf(server)
    expect(now.size).toBe(1)
    expect(now).not.toEqual(shown)
    // The open connection goes on with what it has.
    expect(await statusOver(server, agent, old.cert)).toBe(200)
    agent.destroy()
    for (let count = 0; count < CONNECTIONS; count += 1)
      expect(await statusOver(server, new Agent(), renewed.cert)).toBe(200)
    const metrics = await (await fetch(`http://127.0.0.1:${scene.metricsPort}/metrics`)).text()
    const served = [...metrics.matchAll(/^millrace_http_requests_total\{worker="(\d)",endpoint="\/healthz"/gm)]
    expect(new Set(served.map(([, worker]) => worker))).toEqual(new Set(['1', '2']))

    await writeFile(join(dirname(scene.place.config), 'cert.pem'), 'half a certificate')
    await until(() => reloadedBy('was not reloaded').size === 2)
    expect(await certificatesOf(server)).toEqual(now)
    const status = await statusOf()
    expect(status.certificate_expires_at).toMatch(/^2099-12-31/)
    expect(status.workers?.map(({ reload_refused }) => reload_refused)).toEqual(
      Array(2).fill(expect.stringContaining('server.tls.cert')),
    )
  })

  describe('whose port is taken', () => {
    let other: Server
    let port: number
    beforeEach(async () => {
      other = createServer((_, response) => response.end('not ours'))
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
      port = (other.address() as { port: number }).port
    })
    afterEach(() => new Promise((resolve) => other.close(resolve)))

    it('names the port and its holder, once', async () => {
      await scene.configure(2)
      const ended = await startServer(scene.place, { port }).ended
      expect(ended.code).toBe(4)
      expect(ended.err.match(/Port \d+ .*/g)).toEqual([
        expect.stringMatching(`^Port ${port} \\(server.port\\) is taken by pid ${process.pid} `),
      ])
    })

    it('names a taken port of metrics, once', async () => {
      await scene.configure(2, '', ', metrics_host: 127.0.0.1')
      const place = {
        ...scene.place,
        environment: { ...scene.place.environment, MILLRACE_SERVER__METRICS_PORT: String(port) },
      }
      const ended = await startServer(place).ended
      expect(ended.code).toBe(4)
      expect(ended.err.match(/Port \d+ .*/g)).toEqual([
        expect.stringMatching(`^Port ${port} \\(server.metrics_port\\) is taken by pid ${process.pid} `),
      ])
    })

    it('names another server of ours', async () => {
      const server = await scene.start(2)
      await server.allReady(2)
      const rival = await createServerWithWorkers(postgres)
      await rival.configure(2)
      const ended = await startServer(rival.place, { port: Number(new URL(server.url).port) }).ended
      await rival.close()
      expect(ended.code).toBe(4)
      expect(ended.err).toMatch(`(server.port) is taken by another Millrace, pid ${server.process.pid} `)
    })
  })
})

type Running = Extract<ServerStatus, { running: true }>

const statusOf = (...words: string[]) => millrace<Running>(scene.place, 'status', ...words)

/** What is read of it here. */
interface TopView {
  readonly seconds: number
  readonly requests: number
  readonly models: readonly { readonly turns: number }[]
}

interface FollowedLogs {
  readonly child: ChildProcess
  /** Its exit code. */
  readonly ended: Promise<number | null>
  /** Those that have written a line since the last `forget`. */
  workers(): ReadonlySet<unknown>
  forget(): void
}

function followLogs(): FollowedLogs {
  const child = spawn(process.execPath, commandAt(scene.place, 'logs', '--follow', '--json'), {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  return {
    child,
    ended: new Promise((resolve) => child.once('close', resolve)),
    workers: () => {
      const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
      return new Set(whole.filter((line) => line !== '').map((line) => JSON.parse(line).worker))
    },
    forget() {
      text = text.slice(text.lastIndexOf('\n') + 1)
    },
  }
}

async function writePair({ cert, key }: ReturnType<typeof createCertificate>): Promise<void> {
  const folder = dirname(scene.place.config)
  await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 })
  await writeFile(join(folder, 'cert.pem'), cert)
}

/** What new connections are shown. */
async function certificatesOf({ url }: { readonly url: string }): Promise<ReadonlySet<string>> {
  const shown = new Set<string>()
  for (let count = 0; count < CONNECTIONS; count += 1) {
    shown.add(
      await new Promise<string>((resolve, reject) => {
        const socket = connect(
          { host: '127.0.0.1', port: Number(new URL(url).port), rejectUnauthorized: false },
          () => {
            resolve(socket.getPeerCertificate().fingerprint256)
            socket.destroy()
          },
        )
        socket.on('error', reject)
      }),
    )
  }
  return shown
}

function statusOver({ url }: { readonly url: string }, agent: Agent, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = get(`${url}/healthz`, { agent, ca, servername: 'localhost' }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    asked.on('error', reject)
  })
}
