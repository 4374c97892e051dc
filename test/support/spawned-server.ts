import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from './until.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** One piece of the built product replaced by another, so that something happens at one exact place. */
export interface Replacement {
  readonly file: string
  readonly find: string
  readonly put: string
}

/** The real program in a process of its own, which may die. */
export interface SpawnedServer {
  readonly baseUrl: string
  readonly key: string
  /** Resolves with how the process ended. */
  readonly ended: Promise<string | number>
  /** Starts the true program on what is left. */
  restart(): Promise<void>
  /** What the command prints with `--json`; while a server runs it goes through it. */
  operate(...words: string[]): Record<string, never>
  close(): Promise<void>
}

export async function spawnServer(config: string, replacement: Replacement): Promise<SpawnedServer> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-spawned-'))
  const files = { config: join(folder, 'millrace.yaml'), data: join(folder, 'data') }
  writeFileSync(files.config, `server: { metrics_port: 0 }\n${config}`)
  const changed = changedProgram(folder, replacement)
  const args = ['--config', files.config, '--data', files.data]
  const operate = (...words: string[]) =>
    JSON.parse(execFileSync(process.execPath, [PROGRAM, ...args, '--json', ...words], { encoding: 'utf8' }))
  operate('accounts', 'create', '--email', 'person@example.com')
  operate('wallet', 'credit', 'person@example.com', '10.00', '--reason', 'walk', '--ref', 'first')
  const { key } = operate('keys', 'create', '--account', 'person@example.com', '--kind', 'wallet', '--name', 'walk')

  let running = await start(changed, args)
  return {
    get baseUrl() {
      return `${running.url}/v1`
    },
    key,
    get ended() {
      return running.ended
    },
    async restart() {
      running = await start(PROGRAM, args)
    },
    operate,
    async close() {
      running.child.kill('SIGTERM')
      await running.ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const PROGRAM = join(ROOT, 'dist', 'app', 'main.js')

function changedProgram(folder: string, { file, find, put }: Replacement): string {
  const dist = join(folder, 'dist')
  mkdirSync(dist)
  cpSync(join(ROOT, 'dist'), dist, { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir')
  const parts = readFileSync(join(dist, file), 'utf8').split(find)
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} places like this, not one:\n${find}`)
  writeFileSync(join(dist, file), parts.join(put))
  return join(dist, 'app', 'main.js')
}

async function start(program: string, args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [program, 'serve', ...args, '--port', '0'], {
    stdio: 'ignore',
  })
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  const ended = once(child, 'exit').then(([code, signal]) => signal ?? code)
  const note = join(args[3] ?? '', 'server.json')
  const url = await until(() => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode} before it was ready`)
    return urlIn(note, child.pid)
  })
  return { child, ended, url }
}

/** What a process that is gone has left there is somebody else's. */
function urlIn(note: string, pid: number | undefined): string | undefined {
  try {
    const said = JSON.parse(readFileSync(note, 'utf8'))
    return said.pid === pid ? (said.url ?? undefined) : undefined
  } catch {
    return undefined
  }
}
