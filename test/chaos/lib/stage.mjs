import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendAsk } from './ask.mjs'
import { configText } from './scene.mjs'
import { findFreePort, startServer } from './server-process.mjs'

/**
 * One data folder and the lives of the server on it, one after another on the same port. Clients wait at its gate while
 * no server runs.
 */
export async function createStage({ dist, template, random }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-'))
  cpSync(template, folder, { recursive: true })
  const [port, metricsPort] = [await findFreePort(random), await findFreePort(random)]
  const place = { dist, config: join(folder, 'millrace.yaml'), data: join(folder, 'data') }
  writeFileSync(place.config, configText({ metricsPort }))
  const logPath = join(folder, 'server.log')
  const agent = new Agent({ keepAlive: true })
  const gate = createGate()
  const notes = []
  const kills = []
  let server
  let starts = 0

  return {
    place,
    folder,
    metricsPort,
    notes,
    kills,
    gate,
    get starts() {
      return starts
    },
    async start() {
      server = await startServer({ ...place, port, logPath })
      starts += 1
      gate.open()
    },
    /** At once and without warning, once in a life. */
    kill() {
      if (!gate.isOpen) return
      gate.close()
      kills.push(Date.now())
      server.kill('SIGKILL')
    },
    died: () => server.exited,
    /** As an operator stops it. Resolves to its exit code. */
    stop() {
      gate.close()
      server.kill('SIGTERM')
      return server.exited
    },
    async ask(ask, onSeen) {
      const note = await sendAsk({ port, agent, ask, onSeen })
      if (note.ended !== 'unsent') notes.push(note)
      return note
    },
    readLog: () => readFileSync(logPath, 'utf8'),
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
