import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { explainWrite } from './failure.mjs'
import { textOf } from './fingerprint.mjs'

const HEARTBEAT_MS = 2_000
/** A holder that has not touched its lock for this long is gone, even if its process id is in use again. */
const SILENT_MS = 20_000
const POLL_MS = 150

/** Runs `work` while no other process holds the same lock file; waits for it. */
export async function withLock(path, { print }, work) {
  await acquire(path, print)
  const heartbeat = setInterval(() => touch(path), HEARTBEAT_MS)
  try {
    return await work()
  } finally {
    clearInterval(heartbeat)
    rmSync(path, { force: true })
  }
}

async function acquire(path, print) {
  let announced = false
  while (!created(path)) {
    if (isAbandoned(path)) {
      setAside(path)
      continue
    }
    if (!announced) print('Another start is installing or building here. Waiting for it.')
    announced = true
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
  // An empty file is being written right now.
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

// Renamed before it is removed, so that only one waiting process removes the stale lock.
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
    // A lock that was removed by hand stays removed.
  }
}
