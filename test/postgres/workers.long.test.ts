import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findPostgresPrograms, type PostgresServer, startPostgres } from '../program/postgres.mjs'
import { runCommand, startServer } from '../program/program.mjs'
import { createServerWithWorkers, isGone, openTurn } from '../support/server-with-workers.ts'
import { until } from '../support/until.ts'

/** It takes seconds until it is said, so that there is time to do something to it. */
const LONG = { model: 'calm', words: 'count to 200' }

/** A server that runs as it is shipped refuses one without fsync, so it is one of this file, which may also be stopped. */
const programs = findPostgresPrograms()
let postgres: PostgresServer
let scene: Awaited<ReturnType<typeof createServerWithWorkers>>

/** Turns on connections of their own, until each worker runs at least one. */
async function openOnAll(server: Awaited<ReturnType<typeof scene.start>>, key: string, turn: typeof LONG) {
  const turns = [await openTurn(server, key, turn)]
  for (;;) {
    const workers = await server.workers()
    if (workers.length > 0 && workers.every(({ requests_running }) => requests_running > 0)) return { turns, workers }
    turns.push(await openTurn(server, key, turn))
  }
}

const receipts = (more = '') =>
  scene.query(`SELECT request_id, outcome, charge_nano FROM millrace.receipts ${more} ORDER BY row`)

const allOver = () => until(async () => (await receipts('WHERE outcome IS NULL')).length === 0)

/** The wallet pays for each receipt, and for it once. */
async function expectChargedOnce(requests: number) {
  const [{ rows, charged, paid, held }] = await scene.query(
    `SELECT (SELECT count(*)::int FROM millrace.receipts) AS rows,
       (SELECT sum(charge_nano) FROM millrace.receipts) AS charged,
       10000000000 - (SELECT posted_nano FROM millrace.buckets WHERE kind = 'wallet') AS paid,
       (SELECT held_nano FROM millrace.buckets WHERE kind = 'wallet') AS held`,
  )
  expect([rows, Number(held)]).toEqual([requests, 0])
  expect(Number(paid)).toBe(Number(charged))
}

describe.skipIf(programs === undefined)('a server with several workers', () => {
  beforeAll(async () => {
    postgres = await startPostgres(programs!, { fsync: true })
  })
  afterAll(() => postgres?.stop())
  beforeEach(async () => {
    scene = await createServerWithWorkers(postgres)
  })
  afterEach(async () => {
    await scene.close()
  })

  it('serves with all of them, as one server: one banner, one status, one page of metrics', async () => {
    const server = await scene.start(2)
    await server.allReady(2)
    const key = await server.openAccount()
    const { turns, workers } = await openOnAll(server, key, { model: 'calm', words: 'count to 100' })
    expect(new Set(workers.map(({ pid }) => pid)).size).toBe(2)
    expect(workers.map(({ pid }) => pid)).not.toContain(server.process.pid)
    await Promise.all(turns.map(({ ended }) => ended))
    for (const turn of turns) expect(turn.text()).toContain('[DONE]')
    await allOver()
    await expectChargedOnce(turns.length)

    expect(server.logged('ready').filter(({ msg }) => msg === 'ready')).toMatchObject([{ workers: 2, worker: 1 }])
    const status = await server.operate('status', {})
    expect(status).toMatchObject({ pid: server.process.pid, requests_served: turns.length, requests_running: 0 })
    expect((await runCommand(scene.place, ['status'])).out).toMatch(/workers +1 \(pid \d+, 0 running\), 2 \(pid \d+/)
    await expectMetricsOfAll(turns.length)
  })

  it('lets no second server into its data folder', async () => {
    const server = await scene.start(2)
    await server.allReady(2)
    const second = await startServer(scene.place).ended
    expect(second.code).toBe(4)
    expect(second.err).toContain(`is in use by pid ${server.process.pid}`)
    expect(second.err.match(/is in use/g)).toHaveLength(1)
    expect(await server.workers()).toHaveLength(2)
  })

  it('ends with the message and the exit code of a worker that refuses to start', async () => {
    const server = await scene.start(1, 'key_ring: { secret_key: the-first-secret-of-the-servers-of-a-test }\n')
    server.process.kill('SIGTERM')
    await server.process.ended
    await scene.configure(2, 'key_ring: { secret_key: another-secret-that-the-database-has-not }\n')
    const { code, err } = await startServer(scene.place).ended
    expect(code).toBe(1)
    expect(err.match(/is not on the key ring/g), err).toHaveLength(1)
  })

  it('starts its first worker again with its admin socket and without another banner, later each time', async () => {
    const server = await scene.start(2)
    const all = await server.allReady(2)
    let [pid, other] = [all[0]!.pid, all[1]!.pid]
    for (let kill = 0; kill < 2; kill++) {
      process.kill(pid, 'SIGKILL')
      const now = await until(async () => {
        const [first, second] = await server.workers()
        return first !== undefined && first.pid !== pid && second !== undefined && [first.pid, second.pid]
      })
      expect(now[1]).toBe(other)
      pid = now[0]!
      other = now[1]!
    }
    await server.openAccount()
    server.process.kill('SIGTERM')
    expect((await server.process.ended).code).toBe(0)
    expect(server.logged('ready').filter(({ msg }) => msg === 'ready')).toHaveLength(1)
    expect(server.logged('a worker has ended').map(({ worker, pause_ms }) => [worker, pause_ms])).toEqual([
      [1, 100],
      [1, 200],
    ])
  })

  it('starts a killed worker again, and charges its request once, by what was delivered', async () => {
    const server = await scene.start(2, 'ledger: { node_lease: 1s }\n')
    await server.allReady(2)
    const key = await server.openAccount()
    const { turns, workers } = await openOnAll(server, key, LONG)
    const [first, second] = workers
    await until(() => turns.every((turn) => turn.text().split('data: ').length > 30))
    process.kill(second!.pid, 'SIGKILL')
    const again = await until(async () => {
      const now = await server.workers()
      return now.length === 2 && now[1]!.pid !== second!.pid ? now : undefined
    })
    expect(again[0]!.pid).toBe(first!.pid)
    await Promise.all(turns.map(({ ended }) => ended))
    await allOver()
    const ends = await receipts()
    const whole = turns.filter((turn) => turn.text().includes('[DONE]')).map(({ requestId }) => requestId)
    expect(whole.length).toBeGreaterThan(0)
    expect(whole.length).toBeLessThan(turns.length)
    for (const { request_id, outcome, charge_nano } of ends) {
      expect(outcome).toBe(whole.includes(request_id) ? 'completed' : 'recovered')
      expect(Number(charge_nano)).toBeGreaterThan(0)
    }
    await expectChargedOnce(turns.length)
    expect(server.logged('a worker has ended')).toMatchObject([{ worker: 2, signal: 'SIGKILL' }])
  })

  it('charges once what is repeated to another worker with the same idempotency key', async () => {
    const server = await scene.start(2)
    await server.allReady(2)
    const key = await server.openAccount()
    const ask = async () => {
      const turn = await openTurn(server, key, { stream: false, headers: { 'idempotency-key': 'one-for-all' } })
      await turn.ended
      return turn.text()
    }
    const answers = [await ask(), await ask(), await ask(), await ask()]
    expect(new Set(answers).size).toBe(1)
    const asked = /^millrace_http_requests_total\{worker="(\d)",endpoint="[^"]*\/chat\/completions"/gm
    expect(new Set([...(await readMetrics()).matchAll(asked)].map(([, worker]) => worker))).toEqual(new Set(['1', '2']))
    await expectChargedOnce(1)
  })

  it('drains its streams on a signal, and exits with 0, also when the signal reaches all its processes', async () => {
    const server = await scene.start(2)
    await server.allReady(2)
    const key = await server.openAccount()
    const { turns } = await openOnAll(server, key, { model: 'calm', words: 'count to 60' })
    for (const pid of server.seen) process.kill(pid, 'SIGTERM')
    expect((await server.process.ended).code).toBe(0)
    for (const turn of turns) expect(turn.text()).toContain('[DONE]')
    expect((await receipts()).map(({ outcome }) => outcome)).toEqual(turns.map(() => 'completed'))
    await expectChargedOnce(turns.length)
    await until(() => scene.pids().every(isGone))
  })

  it('cuts them on a second signal', async () => {
    const server = await scene.start(2)
    await server.allReady(2)
    const key = await server.openAccount()
    const { turns } = await openOnAll(server, key, LONG)
    server.process.kill('SIGTERM')
    await until(() => server.logged('Stopping').length === 2)
    server.process.kill('SIGINT')
    expect((await server.process.ended).code).toBe(0)
    for (const turn of turns) expect(turn.text()).not.toContain('[DONE]')
    expect((await receipts()).map(({ outcome }) => outcome)).toEqual(turns.map(() => 'drained'))
    await expectChargedOnce(turns.length)
  })

  it('reloads in all of them on SIGHUP', async () => {
    const server = await scene.start(2)
    await server.allReady(2)
    server.process.kill('SIGHUP')
    await until(() => server.logged('was reloaded').length >= 2)
    expect(new Set(server.logged('was reloaded').map(({ worker }) => worker))).toEqual(new Set([1, 2]))
  })

  it('leaves no process behind when its first process is killed, and ends what runs', async () => {
    const server = await scene.start(2)
    await server.allReady(2)
    const key = await server.openAccount()
    const { turns } = await openOnAll(server, key, { model: 'calm', words: 'count to 60' })
    server.process.kill('SIGKILL')
    await Promise.all(turns.map(({ ended }) => ended))
    for (const turn of turns) expect(turn.text()).toContain('[DONE]')
    await until(() => scene.pids().every(isGone))
    expect((await receipts()).map(({ outcome }) => outcome)).toEqual(turns.map(() => 'completed'))
    await expectChargedOnce(turns.length)
  })

  it('charges what the journals of former workers have', async () => {
    const server = await scene.start(3, 'ledger: { node_lease: 60s }\n')
    await server.allReady(3)
    const key = await server.openAccount()
    const { turns } = await openOnAll(server, key, { model: 'calm', words: 'count to 60' })
    await postgres.crash()
    await Promise.all(turns.map(({ ended }) => ended))
    for (const turn of turns) expect(turn.text()).toContain('[DONE]')
    for (const pid of server.seen) process.kill(pid, 'SIGKILL')
    await until(() => scene.pids().every(isGone))
    await postgres.startAgain()
    expect(existsSync(join(scene.place.data, 'worker-3', 'settles.journal'))).toBe(true)
    const fewer = await scene.start(1, 'ledger: { node_lease: 60s }\n')
    expect((await receipts()).map(({ outcome }) => outcome)).toEqual(turns.map(() => 'completed'))
    await expectChargedOnce(turns.length)
    expect(fewer.logged('a former worker')).toHaveLength(2)
  })
})

const readMetrics = async () => (await fetch(`http://127.0.0.1:${scene.metricsPort}/metrics`)).text()

/** Each family is described once, and has samples of both workers. */
async function expectMetricsOfAll(turns: number) {
  const text = await readMetrics()
  const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
  expect(types).toContain('millrace_turns_total')
  expect(new Set(types).size).toBe(types.length)
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#')))
    expect(line).toMatch(/^[a-zA-Z_:][\w:]*\{worker="[12]"(,[a-zA-Z_]\w*="(?:[^"\\]|\\.)*")*\} \S+$/)
  const counted = [...text.matchAll(/^millrace_turns_total\{worker="(\d)",.*outcome="completed".*\} (\d+)$/gm)]
  expect(new Set(counted.map(([, worker]) => worker))).toEqual(new Set(['1', '2']))
  expect(counted.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(turns)
}
