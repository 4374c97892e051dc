import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { audit, auditWreck } from '../../chaos/lib/audit.mjs'
import { auditCredits } from '../../chaos/lib/audit-rows.mjs'
import { sendUntilAnswered } from '../../chaos/lib/keyed-client.mjs'
import { ACCOUNTS, configText, MARK_INTERVAL_MS } from '../../chaos/lib/scene.mjs'
import { findFreePort } from '../../program/free-port.mjs'
import { placeIn, runCommand, startServer } from '../../program/program.mjs'
import { readLedgerRows } from '../../program/read-ledger.mjs'
import { runCommandHere } from './command-here.mjs'
import { createDisk } from './disk.mjs'
import { readLogs } from './read-log.mjs'
import { createNotes, notesUntil } from './record-load.mjs'
import { recordingEnvironment } from './recorder.mjs'

/** How many keys of either kind are asked with again where the server is started. */
const KEYS_AGAIN = 6
/** What a mark may be late by when the disk is free again. */
const CATCH_UP_MS = 1000
/** What clients may be told while the disk is full, or just after. */
const OF_A_FULL_DISK = [
  '503 ledger_unavailable',
  'was told ledger_unavailable after a whole answer',
  'another body was told 503 ledger_unavailable',
]

/**
 * Starts the program on what a cut has left, and holds its books against what was known at that moment. `way`: `command` has
 * the books opened by `db verify`, `server` by a server which is asked again; `twice` cuts the power in recovery, too.
 */
export async function judgeCut({ cut, folder, recording, dist, library, slackMs, random, providerPort, variant }) {
  const { at } = cut
  const violations = []
  const report = (invariant, id, says) => violations.push({ invariant, id, says })
  const facts = recording.facts.filter(({ confirmedAt }) => confirmedAt < at)
  const credited = new Set(facts.flatMap(({ credit }) => (credit?.ref === 'first' ? [credit.account] : [])))
  const prepared = ACCOUNTS.filter(({ email }) => credited.has(email))

  await judgeWreck({ folder, dist, prepared, violations })
  let home = folder
  if (variant === 'twice') home = await cutAgain({ folder, dist, library, random })
  const place = await placeOf({ home, dist, random, providerPort })
  const notes = notesUntil(recording.notes, at)
  const known = notes.length
  // Before the first command has ended nothing was promised, not even that there are books.
  const isPromised = facts.length > 0 || known > 0
  if (!isPromised && variant !== 'server' && !existsSync(join(home, 'data', 'ledger.db')))
    return { violations, known, figures: undefined }
  if (variant === 'server') await serveAgain({ place, notes, keys: keysKnown(recording.facts, at), random, report })
  const verify = await verifyOrReport(place, report)
  if (verify === undefined) return { violations, known, figures: undefined }
  const ledgerRows = await readLedgerRows(place)
  const wall = Math.ceil(recording.wallOffsetMs + at) + 1
  const whole = audit({
    ...{ notes, kills: [wall], pauses: [], ledgerRows, verify, prepared },
    ...{ intervalMs: MARK_INTERVAL_MS, slackMs: slackMs + stalledMs(recording, at) },
  })
  violations.push(...whole.violations.filter(({ says }) => !OF_A_FULL_DISK.includes(says)))
  violations.push(
    ...auditCredits(
      ledgerRows,
      facts.flatMap(({ credit }) => (credit?.ref.startsWith('top') ? [credit] : [])),
    ),
  )
  auditFacts(ledgerRows, facts, report)
  await auditPages(place, report)
  return { violations, known, figures: whole.figures }
}

/** While its disk was full the ledger recorded nothing at all, so what was delivered since may be lost with the power. */
function stalledMs({ full }, at) {
  const last = full.findLast(({ from }) => from < at)
  return last && at < last.back + CATCH_UP_MS ? at - last.from : 0
}

/** The rows before anything could resolve what was left open. */
async function judgeWreck({ folder, dist, prepared, violations }) {
  if (!existsSync(join(folder, 'data', 'ledger.db'))) return
  const copy = `${folder}-wreck`
  mkdirSync(copy)
  for (const name of ['ledger.db', 'content.db'].flatMap((file) => [file, `${file}-wal`, `${file}-journal`])) {
    if (existsSync(join(folder, 'data', name))) cpSync(join(folder, 'data', name), join(copy, name))
  }
  try {
    violations.push(...auditWreck(await readLedgerRows({ dist, data: copy }), prepared))
  } catch (error) {
    violations.push({ invariant: 'verify', id: 'db', says: `after a cut: ${error.message}` })
  }
}

async function placeOf({ home, dist, random, providerPort }) {
  const place = placeIn(home, { dist })
  const config = JSON.parse(configText({ metricsPort: await findFreePort(random), providerPort }))
  // That holds were left open is what each of them would say.
  writeFileSync(place.config, JSON.stringify({ ...config, telemetry: { log: { level: 'error', format: 'json' } } }))
  return place
}

/** Recovery is recorded as well, and cut somewhere. Returns the folder that this leaves. */
async function cutAgain({ folder, dist, library, random }) {
  const logs = `${folder}-logs`
  const again = `${folder}-again`
  const disk = createDisk()
  const place = placeIn(folder, { dist, environment: recordingEnvironment({ library, folder, logs }) })
  writeFileSync(place.config, configText({ metricsPort: 0, providerPort: 1 }))
  disk.preload(folder)
  await runCommand(place, ['db', 'verify', '--json'])
  const records = readLogs(logs)
  const until = random.below(records.length + 1)
  for (const record of records.slice(0, until)) disk.apply(record)
  disk.write(again, random)
  return again
}

async function verifyOrReport(place, report) {
  const { out, err } = await runCommandHere(place, ['db', 'verify', '--json'])
  const emitted = out === '' ? { error: { message: err } } : JSON.parse(out)
  if (emitted.error === undefined) return emitted
  report('verify', 'db', `the program does not open its books: ${emitted.error.message.slice(0, 300)}`)
  return undefined
}

/** A server on what is left: who was told a whole answer gets it again, keys open the door or do not, and work goes on. */
async function serveAgain({ place, notes, keys, random, report }) {
  const port = await findFreePort(random)
  const server = startServer(place, { port })
  try {
    await server.ready
  } catch (error) {
    report('verify', 'server', `does not start: ${error.message.slice(0, 300)}`)
    return
  }
  const later = createNotes(port)
  const stage = { sendTurn: later.sendTurn, gate: { passed: async () => {} } }
  const keyed = new Map(
    notes
      .filter(({ sendTurn }) => sendTurn.once !== undefined && !sendTurn.isOther)
      .map(({ sendTurn }) => [sendTurn.once, sendTurn]),
  )
  const reported = new Set(
    notes.filter(({ status, ended }) => status === 200 && ended === 'done').map(({ sendTurn }) => sendTurn.once),
  )
  const sends = [...keyed.values()].reverse()
  const again = [
    ...sends.filter(({ once }) => reported.has(once)).slice(0, KEYS_AGAIN),
    ...sends.filter(({ once }) => !reported.has(once)).slice(0, KEYS_AGAIN),
  ]
  for (const sendTurn of again) await sendUntilAnswered(stage, { ...sendTurn, abort: undefined }, random)
  notes.push(...later.all.map(({ note }) => note))
  later.close()
  for (const { id, secret, isRevoked } of keys) {
    const headers = { authorization: `Bearer ${secret}` }
    const { status } = await fetch(`http://127.0.0.1:${port}/v1/models`, { headers })
    if (status !== (isRevoked ? 401 : 200)) report('owned', id, `${isRevoked ? 'revoked' : 'made'}, is told ${status}`)
  }
  server.kill('SIGTERM')
  const { code } = await server.ended
  if (code !== 0) report('answers', 'server', `ended with ${code}`)
}

/** Some keys of which it was confirmed that they were made, or revoked. That a revocation is on its way leaves it open. */
function keysKnown(facts, at) {
  const made = facts.flatMap(({ key, confirmedAt }) => (key && confirmedAt < at ? [key] : []))
  const revocations = facts.filter(({ revokes, beganAt }) => revokes !== undefined && beganAt < at)
  const live = made.filter(({ id }) => !revocations.some(({ revokes }) => revokes === id))
  const revoked = made.filter(({ id }) =>
    revocations.some(({ revokes, confirmedAt }) => revokes === id && confirmedAt < at),
  )
  return [
    ...live.slice(-2).map((key) => ({ ...key, isRevoked: false })),
    ...revoked.slice(-2).map((key) => ({ ...key, isRevoked: true })),
  ]
}

/** What the operator was told is done. */
function auditFacts({ accounts, keys }, facts, report) {
  const byId = new Map(keys.map((key) => [key.id, key]))
  for (const { account, key, revokes } of facts) {
    if (account && !accounts.some(({ id }) => id === account.id))
      report('owned', account.email, 'was made, and is gone')
    if (key && !byId.has(key.id)) report('owned', key.id, 'was made, and is gone')
    if (revokes && byId.get(revokes)?.revoked_at == null) report('owned', revokes, 'was revoked, and is not')
  }
}

/** SQLite's own proof of both files. */
async function auditPages({ dist, data }, report) {
  const { openSqlite } = await import(pathToFileURL(join(dist, 'db/sqlite/open-sqlite.js')).href)
  for (const name of ['ledger.db', 'content.db']) {
    const file = await openSqlite({ path: join(data, name) })
    try {
      const rows = await file.all('PRAGMA integrity_check', [])
      const says = rows.map(({ integrity_check }) => integrity_check).join('; ')
      if (says !== 'ok') report('verify', name, says)
      if ((await file.all('PRAGMA foreign_key_check', [])).length > 0) report('verify', name, 'a row points to nothing')
    } finally {
      await file.close()
    }
  }
}
