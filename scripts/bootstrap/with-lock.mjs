import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { explainWrite } from './failure.mjs'
import { textOf } from './fingerprint.mjs'

const HEARTBEAT_MS = 2_000
/** A holder that has not touched its lock for so long is gone, even if its process id now belongs to somebody else. */
const SILENT_MS = 20_000
const POLL_MS = 150

/** Does `work` while no other process does its own under the same lock file; waits for its turn. */
export async function withLock(path, { say }, work) {
  await acquire(path, say)
  const heartbeat = setInterval(() => touch(path), HEARTBEAT_MS)
  try {
    return await work()
  } finally {
    clearInterval(heartbeat)
    rmSync(path, { force: true })
  }
}

async function acquire(path, say) {
  let told = false
  while (!created(path)) {
    if (isAbandoned(path)) {
      setAside(path)
      continue
    }
    if (!told) say('Another start is installing or building here; waiting for it.')
    told = true
    await sleep(POLL_MS)
  }
}

function created(path) {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${process.pid}\n`, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw explainWrite(error, dirname(path))
  }
}

function isAbandoned(path) {
  const age = ageOf(path)
  if (age === undefined) return false
  if (age > SILENT_MS) return true
  const holder = Number(textOf(path))
  // An empty file is one that is being written this very moment.
  return holder > 0 && (holder === process.pid || !isAlive(holder))
}

function ageOf(path) {
  const status = statSync(path, { throwIfNoEntry: false })
  return status && Date.now() - status.mtimeMs
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

// Renamed before it is removed: of several that wait, only one can take the dead lock out of the way.
function setAside(path) {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    rmSync(aside, { force: true })
  } catch (error) {
    if (error.code !== 'ENOENT') throw explainWrite(error, dirname(path))
  }
}

function touch(path) {
  try {
    const now = new Date()
    utimesSync(path, now, now)
  } catch {
    // Whoever removed the lock by hand meant it.
  }
}
