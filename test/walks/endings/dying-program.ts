import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../../support/until.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

const note = (facts: string) =>
  `process.getBuiltinModule('node:fs').appendFileSync(process.env.NOTES, JSON.stringify(${facts}) + '\\n');`
const stay = (place: string) =>
  `if (process.env.STAYS_AT === '${place}') { ${note(`{ place: '${place}' }`)} await new Promise(() => {}); }`

const RECORD = 'void (await file.atomic(recordChanges(changes, marks)))'
const SETTLE = 'const settled = await turn.hold.settle(ending);'
const COUNT_OPENED = "changes.filter(({ kind }) => kind === 'receipt-opened').length"
const PACKED = "marks ? Buffer.from(marks.packed).toString('base64') : undefined"

/** The places where the program can be told to stay, and what it notes of its batches. */
const CHANGES = [
  {
    file: 'ledger/open-ledger.js',
    find: RECORD,
    put: `{
      const opened = ${COUNT_OPENED};
      if (opened > 0) { ${stay('hold')} }
      if (process.env.STAYS_AT === 'no-marks') marks = undefined;
      await file.atomic(recordChanges(changes, marks));
      ${note(`{ place: 'recorded', opened, marks: ${PACKED} }`)}
    }`,
  },
  { file: 'turn/serve-turn.js', find: SETTLE, put: `${stay('charge')} ${SETTLE} ${stay('end')}` },
] as const

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
  const home = mkdtempSync(join(tmpdir(), 'millrace-dying-'))
  const dist = join(home, 'dist')
  mkdirSync(dist)
  cpSync(join(ROOT, 'dist'), dist, { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(home, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'), 'dir')
  for (const { file, find, put } of CHANGES) {
    const parts = readFileSync(join(dist, file), 'utf8').split(find)
    if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} places like this, not one:\n${find}`)
    writeFileSync(join(dist, file), parts.join(put))
  }
  const program = join(dist, 'app', 'main.js')
  return {
    start: (folder, staysAt) => run(program, folder, staysAt),
    close: () => rmSync(home, { recursive: true, force: true }),
  }
}

async function run(program: string, folder: string, staysAt: Place): Promise<RunningProgram> {
  const notes = join(folder, 'notes.jsonl')
  writeFileSync(notes, '')
  const args = ['serve', '--config', join(folder, 'millrace.yaml'), '--data', folder, '--port', '0']
  const environment = { NOTES: notes, STAYS_AT: staysAt, MILLRACE_SERVER__METRICS_PORT: '0', HOME: folder }
  const child = spawn(process.execPath, [program, ...args], { stdio: 'ignore', cwd: folder, env: environment })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'exit').then(() => process.off('exit', kill))
  const url = await until(() => urlOf(folder, child))
  return {
    baseUrl: `${url}/v1`,
    notes: () =>
      readFileSync(notes, 'utf8')
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Note])),
    async end(signal) {
      child.kill(signal)
      await ended
    },
  }
}

function urlOf(folder: string, child: ChildProcess): string | undefined {
  if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode} before it was ready`)
  try {
    const said = JSON.parse(readFileSync(join(folder, 'server.json'), 'utf8'))
    return said.pid === child.pid ? (said.url ?? undefined) : undefined
  } catch {
    return undefined
  }
}
