import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../../program/free-port.mjs'
import { placeIn, startServer } from '../../program/program.mjs'
import { sendRequest } from './request.mjs'
import { configText } from './scene.mjs'

const STUMBLE_WITHIN_MS = 2000

/** Commits go to the write-ahead log; the first of a start is that of recovery. */
const writtenAt = (data) => statSync(join(data, 'ledger.db-wal'), { throwIfNoEntry: false })?.mtimeMs

/**
 * One data folder and the lives of the server on it, one after another on the same port. Clients wait at its gate while
 * no server runs.
 */
export async function createStage({ dist, template, random, providerPort, more, idle, environment }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-'))
  cpSync(template, folder, { recursive: true })
  const [port, metricsPort] = [await findFreePort(random), await findFreePort(random)]
  const place = placeIn(folder, { dist, environment })
  writeFileSync(place.config, configText({ metricsPort, providerPort, more, idle }))
  const logPath = join(folder, 'server.log')
  const agent = new Agent({ keepAlive: true })
  const gate = createGate()
  const notes = []
  const kills = []
  const pauses = []
  const start = () => startServer(place, { port, logPath })
  let server
  let starts = 0
  const stumbles = []

  return {
    place,
    folder,
    port,
    metricsPort,
    notes,
    kills,
    pauses,
    gate,
    get starts() {
      return starts
    },
    /** Starts that were themselves killed: from when to when each lasted. */
    stumbles,
    async start() {
      server = start()
      await server.ready
      starts += 1
      gate.open()
    },
    /** A start that is killed so long after it has begun to write: in the middle of recovery. */
    async stumble(afterMs) {
      const from = Date.now()
      const unwritten = writtenAt(place.data)
      const stumbling = start()
      while (writtenAt(place.data) === unwritten && Date.now() - from < STUMBLE_WITHIN_MS) await sleep(1)
      await sleep(afterMs)
      const to = Date.now()
      stumbling.kill('SIGKILL')
      await stumbling.ended
      stumbles.push({ from, to })
    },
    /** At once and without warning, once in a life. */
    kill() {
      if (!gate.isOpen) return
      gate.close()
      kills.push(Date.now())
      server.kill('SIGKILL')
    },
    /** Stands still for so long, as a machine that sleeps or swaps; a kill may come into it. */
    async pause(forMs) {
      const stopped = server
      const pause = { from: Date.now(), to: Number.POSITIVE_INFINITY }
      pauses.push(pause)
      stopped.kill('SIGSTOP')
      await sleep(forMs)
      stopped.kill('SIGCONT')
      pause.to = Date.now()
    },
    died: () => server.ended,
    /** As an operator stops it. Resolves to its exit code. */
    async stop() {
      gate.close()
      server.kill('SIGTERM')
      return (await server.ended).code
    },
    async sendTurn(sendTurn, onSeen) {
      const note = await sendRequest({ port, agent, sendTurn, onSeen })
      if (note.ended !== 'unsent') notes.push(note)
      return note
    },
    /** A server that logs an error has failed the run; the first few are shown. */
    checkLog(tally) {
      const lines = readFileSync(logPath, 'utf8').split('\n')
      const errors = lines.filter((line) => /"level":"?(error|fatal|50|60)/.test(line))
      for (const line of errors.slice(0, 3)) console.log(`  ${line.slice(0, 500)}`)
      tally.check(errors.length === 0, `the server logged ${errors.length} errors`)
      return errors
    },
    clear() {
      agent.destroy()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function createGate() {
  let open = false
  let waiting = []
  return {
    get isOpen() {
      return open
    },
    open() {
      open = true
      for (const pass of waiting) pass()
      waiting = []
    },
    close() {
      open = false
    },
    passed: () => (open ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  }
}
