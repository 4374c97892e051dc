import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll } from 'vitest'

/**
 * Leaves behind, after each test file, which of the built program it has run: V8 counts, the rest of a file is added by
 * `npm run coverage`. Servers that a test starts do the same by themselves, because the variable of Node's own is set for them.
 */
const FOLDER = process.env.MILLRACE_COVERAGE ?? ''
const BUILT = pathToFileURL(join(process.cwd(), 'dist')).href

interface Counting {
  readonly session: Session
  taken: number
}

/** Files share their process: what counts was begun by the first of them. */
const shared = globalThis as { millraceCounting?: Counting }
shared.millraceCounting ??= begin()
const counting = shared.millraceCounting

function begin(): Counting {
  mkdirSync(FOLDER, { recursive: true })
  process.env.NODE_V8_COVERAGE = FOLDER
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  return { session, taken: 0 }
}

afterAll(() => {
  counting.session.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error) throw error
    const result = taken.result.filter(({ url }) => url.startsWith(BUILT))
    const name = `coverage-${process.pid}-${counting.taken++}-in-tests.json`
    writeFileSync(join(FOLDER, name), JSON.stringify({ result }))
  })
})
