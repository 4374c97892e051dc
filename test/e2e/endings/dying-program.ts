import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyDist } from '../../program/copies.mjs'
import { startServer } from '../../program/program.mjs'

const note = (facts: string) =>
  `process.getBuiltinModule('node:fs').appendFileSync(process.env.NOTES, JSON.stringify(${facts}) + '\\n');`
const stay = (place: string) =>
  `if (process.env.STAYS_AT === '${place}') { ${note(`{ place: '${place}' }`)} await new Promise(() => {}); }`

const RECORD = 'await file.atomic(recordChanges(operations, marks));'
const SETTLE = 'const settled = await turn.hold.settle(ending);'
const COUNT_OPENED =
  "operations.flatMap(({ changes }) => changes).filter(({ kind }) => kind === 'receipt-opened').length"
const PACKED = "marks ? Buffer.from(marks.packed).toString('base64') : undefined"

/** The places where the program can be told to stay, and what it notes of its batches. */
const CHANGES = [
  {
    file: 'db/record-changes.js',
    find: RECORD,
    put: `{
      const opened = ${COUNT_OPENED};
      if (opened > 0) { ${stay('hold')} }
      if (process.env.STAYS_AT === 'no-marks') marks = undefined;
      await file.atomic(recordChanges(operations, marks));
      ${note(`{ place: 'recorded', opened, marks: ${PACKED} }`)}
    }`,
  },
  { file: 'gateway/serve-turn.js', find: SETTLE, put: `${stay('charge')} ${SETTLE} ${stay('end')}` },
]

export type Place = 'hold' | 'charge' | 'end' | 'no-marks' | 'nowhere'

/** What the program has noted. */
export interface Note {
  readonly place: 'recorded' | Place
  readonly opened?: number
  /** Base64 of the packed marks. */
  readonly marks?: string
}

export interface DyingProgram {
  start(folder: string, staysAt: Place): Promise<RunningProgram>
  close(): void
}

export interface RunningProgram {
  readonly baseUrl: string
  notes(): readonly Note[]
  /** Resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<void>
}

/** A copy of the built product that stays where it is told to, and so can be killed at exactly that place. */
export function prepareDyingProgram(): DyingProgram {
  const { dist, clear } = copyDist(undefined, CHANGES)
  return { start: (folder, staysAt) => run(dist, folder, staysAt), close: clear }
}

async function run(dist: string, folder: string, staysAt: Place): Promise<RunningProgram> {
  const notes = join(folder, 'notes.jsonl')
  writeFileSync(notes, '')
  const environment = { NOTES: notes, STAYS_AT: staysAt, MILLRACE_SERVER__METRICS_PORT: '0' }
  const server = startServer({ dist, config: join(folder, 'millrace.yaml'), data: folder, environment })
  return {
    baseUrl: `${await server.ready}/v1`,
    notes: () =>
      readFileSync(notes, 'utf8')
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Note])),
    async end(signal) {
      server.kill(signal)
      await server.ended
    },
  }
}
