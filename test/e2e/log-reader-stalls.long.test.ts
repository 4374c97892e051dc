import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { DIST, placeIn, startServer } from '../program/program.mjs'
import { TEST_CONFIG } from '../support/test-config.ts'

/** What a pipe holds is less. */
const PIPES_FULL = 96 * 1024
/** Each request has both in its line. */
const LOGGED = { 'user-agent': 'x'.repeat(200), 'x-client-request-id': 'y'.repeat(200) }
const AT_ONCE = 20

let folder: string
let pipe: string
let holder: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-log-'))
  pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  // This holds the pipe open and never reads, like a log driver that has stalled.
  holder = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
})
afterEach(() => {
  closeSync(holder)
  rmSync(folder, { recursive: true, force: true })
})

describe('a stalled log reader', () => {
  // As JSON all that a server says is in its log, else the last of it goes to stderr, which is the same pipe here.
  it.each(['json', 'auto'] as const)('delays no client and no shutdown: %s', async (logFormat) => {
    const place = placeIn(folder)
    await writeFile(place.config, TEST_CONFIG)
    const server = startServer(place, { logPath: pipe, logFormat })
    onTestFinished(() => server.kill('SIGKILL'))
    const url = await server.ready
    const sendTurn = () => fetch(`${url}/healthz`, { headers: LOGGED })
    for (let emitted = 0; emitted < PIPES_FULL; emitted += AT_ONCE * 400) {
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, sendTurn))
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      for (const answer of answers) await answer.body?.cancel()
    }
    server.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  })

  it('does not keep a process alive that only opened its log', async () => {
    const destination = pathToFileURL(join(DIST, 'telemetry', 'log.js'))
    const program = `
      import { openLogDestination } from ${JSON.stringify(destination.href)}
      const log = openLogDestination({ to: 1, gatherBytes: 0, flushEveryMs: 1000, onDropped() {} })
      log.write('x'.repeat(${PIPES_FULL}))
      await log.close()`
    const to = openSync(pipe, 'a')
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', to, 'inherit'],
    })
    closeSync(to)
    onTestFinished(() => void child.kill('SIGKILL'))
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})
