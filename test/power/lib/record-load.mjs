import { mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startClients } from '../../chaos/lib/clients.mjs'
import { planRequest } from '../../chaos/lib/plan-request.mjs'
import { sendRequest } from '../../chaos/lib/request.mjs'
import { configText } from '../../chaos/lib/scene.mjs'
import { findFreePort } from '../../program/free-port.mjs'
import { placeIn, startServer } from '../../program/program.mjs'
import { nowMs } from './clock.mjs'
import { createOperator } from './operator.mjs'
import { recordingEnvironment } from './recorder.mjs'

const CLIENTS = 12
/** A busy machine is given longer for so many requests. */
const REQUESTS_MIN = 150
const LONGER_MS = 15_000
const ACT_PAUSE_MS = 60
/** The disk of the ledger is full so often, each time until ends of turns have gone to settles.journal. */
const FULL_TIMES = 3
const FULL_MS = { atLeast: 300, atMost: 2000 }
/** The second life is short: its start and its end are what may be cut. */
const SECOND_LIFE_MS = 400

/**
 * Runs the program from an empty folder through two lives under load, with every write recorded. Returns what the clients
 * and the operator have seen, each thing with its time.
 */
export async function recordLoad({ dist, library, random, seconds, providerPort }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-power-'))
  const home = join(folder, 'home')
  const logs = join(folder, 'logs')
  const control = join(folder, 'control')
  mkdirSync(home)
  const environment = recordingEnvironment({ library, folder: home, logs, control })
  const place = placeIn(home, { dist, environment })
  writeFileSync(place.config, configText({ metricsPort: await findFreePort(random), providerPort }))
  const port = await findFreePort(random)
  const logPath = join(folder, 'server.log')
  const notes = createNotes(port)
  const operator = createOperator({ data: place.data, random })
  const wallOffsetMs = Date.now() - nowMs()
  const full = []

  const server = startServer(place, { port, logPath })
  await server.ready
  failWhenItDies(server, logPath)
  const accounts = await operator.prepare()
  const preparedAt = nowMs()
  await serveLoad(seconds * 1000, async (until) => {
    for (let times = 1; nowMs() < until; ) {
      await sleep(ACT_PAUSE_MS)
      await operator.act()
      if (times > FULL_TIMES || nowMs() < until - (seconds * 1000 * (FULL_TIMES + 1 - times)) / (FULL_TIMES + 1))
        continue
      times += 1
      const from = nowMs()
      // In place: the recorder has the file mapped.
      writeFileSync(control, '\x01', { flag: 'r+' })
      await untilJournaled(place.data)
      writeFileSync(control, '\0', { flag: 'r+' })
      const to = nowMs()
      await ledgerIsBack(operator)
      full.push({ from, to, back: nowMs() })
    }
  })
  const stoppingAt = nowMs()
  await stop(server)
  const second = startServer(place, { port, logPath })
  await second.ready
  failWhenItDies(second, logPath)
  await serveLoad(SECOND_LIFE_MS, () => operator.act())
  await stop(second)
  const endedAt = nowMs()
  notes.close()
  return {
    folder,
    logs,
    logPath,
    notes: notes.all,
    facts: operator.facts,
    accounts,
    full,
    wallOffsetMs,
    preparedAt,
    stoppingAt,
    endedAt,
  }

  async function serveLoad(ms, meanwhile) {
    const stage = { sendTurn: notes.sendTurn, gate: { passed: async () => {} } }
    const clients = startClients({ stage, accounts, random: random.fork(ms), count: CLIENTS, plan })
    const until = nowMs() + ms
    await meanwhile(until)
    await sleep(Math.max(0, until - nowMs()))
    while (notes.all.length < REQUESTS_MIN && nowMs() < until + LONGER_MS) await sleep(50)
    await clients.stop()
  }

  async function stop(running) {
    running.kill('SIGTERM')
    const { code } = await running.ended
    if (code !== 0) throw new Error(`the recorded server ended with ${code}; see ${logPath}`)
  }
}

/** A recorded server ends only when it is asked to. */
function failWhenItDies(server, logPath) {
  void server.ended.then(({ code }) => {
    if (code !== 0) throw new Error(`the recorded server ended with ${code}; see ${logPath}`)
  })
}

/** A third of the load speaks Responses. */
function plan(random, accounts) {
  const sendTurn = planRequest(random, accounts)
  return sendTurn.fault === undefined && random.chance(0.33) ? { ...sendTurn, protocol: 'responses' } : sendTurn
}

async function untilJournaled(data) {
  const writtenAt = () => statSync(join(data, 'settles.journal')).mtimeMs
  const before = writtenAt()
  const from = nowMs()
  while (writtenAt() === before && nowMs() - from < FULL_MS.atMost) await sleep(5)
  await sleep(FULL_MS.atLeast)
}

/** An operator whose command was refused because of the full disk gives it again. */
async function ledgerIsBack(operator) {
  for (;;) {
    try {
      return await operator.act()
    } catch {
      await sleep(50)
    }
  }
}

/** Sends requests and keeps each note as it was whenever something was added to it. */
export function createNotes(port) {
  const agent = new Agent({ keepAlive: true })
  const all = []
  return {
    all,
    async sendTurn(sendTurn) {
      const kept = { note: undefined, beganAt: nowMs(), endedAt: Number.POSITIVE_INFINITY, seen: [] }
      const onSeen = (note) => {
        if (kept.note === undefined) all.push(kept)
        kept.note = note
        const { id, replayed, original, status, code, text, raw, reported, done, ended, arrivals } = note
        const sizes = { text: text.length, raw: raw.length, arrivals: arrivals.length }
        kept.seen.push({ at: nowMs(), ...{ id, replayed, original, status, code, reported, done, ended }, sizes })
      }
      const sending = sendRequest({ port, agent, sendTurn, onSeen })
      const note = await sending
      if (kept.note === undefined && note.ended !== 'unsent') all.push(kept)
      kept.note = note
      kept.endedAt = nowMs()
      return note
    },
    close: () => agent.destroy(),
  }
}

/** What its client knew of a request at some time: notes of requests that had not begun are not there. */
export function notesUntil(notes, at) {
  return notes
    .filter(({ beganAt }) => beganAt < at)
    .map(({ note, endedAt, seen }) => {
      if (endedAt < at) return note
      const last = seen.findLast((moment) => moment.at < at)
      const nothing = { id: undefined, replayed: false, original: undefined, status: undefined, code: undefined }
      if (!last)
        return {
          ...note,
          ...nothing,
          text: '',
          raw: '',
          arrivals: [],
          reported: undefined,
          done: false,
          ended: 'broken',
        }
      const { sizes, at: _, ...known } = last
      const { text, raw, arrivals } = note
      return {
        ...{ ...note, ...known, text: text.slice(0, sizes.text), raw: raw.slice(0, sizes.raw) },
        ...{ arrivals: arrivals.slice(0, sizes.arrivals), ended: known.ended ?? (known.done ? 'done' : 'broken') },
      }
    })
}
