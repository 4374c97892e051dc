import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'
import { pause } from '../lib/async.ts'

const READY = {
  ...{ running: true, draining: false, ledger_available: true, url: 'http://a', clock: { state: 'together' } },
}
const ABSENT = { running: false, data: '/d' }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A server whose state changes from one question to the next; the last one stays. */
function serverThatIs(...states: readonly object[]) {
  let asked = 0
  const operations = {
    get status() {
      return done(states[Math.min(asked++, states.length - 1)])
    },
  }
  const { run, emitted } = commandLine({ operations })
  return {
    emitted,
    get asked() {
      return asked
    },
    async run(line: string) {
      const exit = run(line)
      await vi.runAllTimersAsync()
      return exit
    },
  }
}

it.each([
  ['accepts requests', READY, 0],
  ['does not run', ABSENT, 3],
  ['stops', { ...READY, draining: true }, 1],
  ['cannot write its ledger', { ...READY, ledger_available: false }, 1],
] as const)('exits by whether the server is ready: it %s', async (_, state, exit) => {
  expect(await serverThatIs(state).run('status --ready')).toBe(exit)
  expect(await serverThatIs(state).run('status')).toBe(state === ABSENT ? 3 : 0)
})

it('waits for a server that starts, and prints its state once', async () => {
  const server = serverThatIs(ABSENT, { ...READY, ledger_available: false }, READY)
  expect(await server.run('status --ready 30')).toBe(0)
  expect(server.asked).toBe(3)
  expect(server.emitted.out.match(/Running\./g)).toHaveLength(1)
  expect(server.emitted.err).toBe('')
})

it('gives up when the time is over', async () => {
  const server = serverThatIs(ABSENT)
  expect(await server.run('status --ready 2')).toBe(3)
  expect(server.asked).toBe(11)
})

it('gives up at that time when the server accepts the question and never answers', async () => {
  const { run, emitted } = commandLine({
    run: async (_, __, timeoutMs = 600_000) => {
      await pause(timeoutMs)
      return { kind: 'unreachable', exit: 4, message: 'The server (pid 1) did not answer.' }
    },
  })
  const began = Date.now()
  const exit = run('status --ready 5')
  await vi.runAllTimersAsync()
  expect(await exit).toBe(4)
  expect(emitted.err).toContain('did not answer')
  expect(Date.now() - began).toBe(5000)
})

it('stops waiting when the process that would become ready has ended', async () => {
  const pids: number[] = []
  const { run } = commandLine({
    operations: { status: done(ABSENT) },
    isAlive: (pid) => pids.push(pid) < 3,
  })
  const began = Date.now()
  const exit = run('status --ready 600 --while-pid 4711')
  await vi.runAllTimersAsync()
  expect(await exit).toBe(3)
  expect(pids).toEqual([4711, 4711, 4711])
  expect(Date.now() - began).toBe(400)
})
