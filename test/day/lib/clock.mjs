import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clockEnvironment, passTime } from '../../chaos/lib/shifted-clock.mjs'

const SOURCE = fileURLToPath(new URL('./ahead.c', import.meta.url))
const DAY_MS = 86_400_000

/**
 * One wall clock of this process, the servers and PostgreSQL, which can be put forward. PostgreSQL gets it by a library, which needs a
 * C compiler: without one it is undefined for `postgres`.
 */
export function openClock({ postgres }) {
  // PostgreSQL may run as another user.
  const folder = mkdtempSync(join(tmpdir(), 'millrace-day-clock-'))
  chmodSync(folder, 0o755)
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const [text, micros, library] = ['ahead', 'ahead-micros', 'ahead.so'].map((name) => join(folder, name))
  if (postgres && spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, SOURCE, '-ldl']).status !== 0)
    return undefined
  let aheadMs = 0
  const put = (ms) => {
    aheadMs += Math.round(ms)
    passTime(text, ms)
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(aheadMs) * 1000n)
    // PostgreSQL has mapped it: it must never be empty.
    const file = openSync(micros, 'r+')
    writeSync(file, bytes, 0, bytes.length, 0)
    closeSync(file)
  }
  writeFileSync(micros, Buffer.alloc(8))
  put(0)
  return {
    /** Of the servers: they read it once, at their start. */
    environment: clockEnvironment(text),
    ofPostgres: { LD_PRELOAD: library, DAY_CLOCK_FILE: micros },
    forwardTo: (at) => put(at - Date.now()),
  }
}

/** The next midnight, UTC, at which a week and a month of a plan begin that was assigned on that day of the month before. */
export function findMidnight() {
  for (let at = Math.ceil(Date.now() / DAY_MS) * DAY_MS + 35 * DAY_MS; ; at += DAY_MS) {
    const date = new Date(at)
    if (date.getUTCDay() === 1 && date.getUTCDate() <= 28) return at
  }
}

export function monthBefore(at) {
  const date = new Date(at)
  return date.setUTCMonth(date.getUTCMonth() - 1)
}
