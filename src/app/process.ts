import type { EventEmitter } from 'node:events'
import { readFileSync, realpathSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Terminal, Versions } from '../cli/cli-services.ts'
import type { Environment } from '../config/files.ts'
import { ledgerMigrations } from '../db/migrations/ledger-migrations.ts'
import { openDriver } from '../db/sqlite/connection.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { scrub } from '../telemetry/scrub.ts'
import type { WorkerPlace } from './app.ts'

/** Uncaught errors of the whole process. */
export type Faults = ReturnType<typeof createFaults>

/** Node would end the process at once, with turns unsettled and a stack on the terminal. The newest handler decides instead. */
export function createFaults(source: Pick<NodeJS.Process, 'on'>, byDefault: (error: unknown) => void) {
  const handlers = [byDefault]
  const onFault = (error: unknown) => handlers.at(-1)!(error)
  source.on('uncaughtException', onFault)
  source.on('unhandledRejection', onFault)
  return {
    /** Replaces the current handler; returns how to restore it. */
    take(handler: (error: unknown) => void): () => void {
      handlers.push(handler)
      return () => void handlers.splice(handlers.lastIndexOf(handler), 1)
    },
  }
}

/** Describes an unexpected failure for a person: what broke and why, without a stack and without secrets. */
export function failureSentences(error: unknown): string[] {
  if (error instanceof AggregateError) return error.errors.flatMap(failureSentences)
  if (!(error instanceof Error)) return [scrub(String(error))]
  // A wrapping error often quotes its cause.
  const message = scrub(error.message)
  const causes = error.cause === undefined ? [] : failureSentences(error.cause)
  return [message, ...causes.filter((cause) => !message.includes(cause))]
}

/** Colours on a TTY that can show them, unless the environment decides. */
function coloursOn(stream: { readonly isTTY?: boolean }, environment: Environment): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = environment
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  if (NO_COLOR || TERM === 'dumb') return false
  return stream.isTTY === true
}

export function createProcessTerminal(environment: Environment): Terminal {
  const { stdin, stdout, stderr } = process
  // `millrace keys list | head -1`: a reader that stops early is not a failure.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    colours: { out: coloursOn(stdout, environment), err: coloursOn(stderr, environment) },
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    attended: stdout.isTTY === true && stderr.isTTY === true,
    ask: (question) =>
      new Promise((resolve) => {
        const lines = createInterface({ input: stdin, output: stderr })
        lines.question(question, (answer) => {
          resolve(answer)
          lines.close()
        })
        lines.once('close', () => resolve(undefined))
        // The line editor takes Ctrl+C for itself; here it interrupts the process.
        lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
      }),
  }
}

/**
 * The command that starts this program in the user's shell: `millrace` if the PATH leads here, `npx …` if npx started it, else Node
 * and the script.
 */
export function programCommand(started: { node: string; script: string; environment: Environment }): string {
  const { node, script, environment } = started
  if (resolvesTo(environment, 'millrace', script)) return 'millrace'
  const byNpx = environment.npm_lifecycle_event === 'npx' ? npxCommand(script) : undefined
  return byNpx ?? `${resolvesTo(environment, 'node', node) ? 'node' : shellWord(node)} ${shellWord(script)}`
}

/** npx notes the packages that it was given beside the `node_modules` that it has installed them in. */
function npxCommand(script: string): string | undefined {
  const [folder, ...rest] = script.split(/[/\\]node_modules[/\\]/)
  if (folder === undefined || rest.length === 0) return undefined
  try {
    const { dependencies, _npx } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as NpxNote
    if (_npx.packages.length !== 1) return undefined
    const [wanted = ''] = _npx.packages
    if (/^millrace(@|$)/.test(wanted)) return `npx ${shellWord(wanted)}`
    // A path was relative to the working folder of that moment. The dependency is relative to this folder.
    const { millrace = '' } = dependencies
    const spec = millrace.startsWith('file:') ? resolve(folder, millrace.slice('file:'.length)) : wanted
    return `npx --package ${shellWord(spec)} millrace`
  } catch {
    return undefined
  }
}

interface NpxNote {
  readonly dependencies: Readonly<Record<string, string>>
  readonly _npx: { readonly packages: readonly string[] }
}

/** Whether the first match for the name on the PATH is this file. */
function resolvesTo(environment: Environment, name: string, file: string): boolean {
  const wanted = realPath(file)
  const { PATH = '', npm_lifecycle_event: byNpm } = environment
  // npm and npx prepend the `.bin` folders to the PATH; the user's shell does not have them.
  const first = PATH.split(delimiter)
    .filter((folder) => folder !== '' && (byNpm === undefined || !/node_modules[/\\]\.bin$/.test(folder)))
    .map((folder) => realPath(join(folder, name)))
    .find((path) => path !== undefined)
  return first !== undefined && first === wanted
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** The variable by which the supervisor tells a process that it is a worker, and which. */
export const WORKER_VARIABLE = 'MILLRACE_WORKER'

export interface WorkerStart extends WorkerPlace {
  /** The first worker prints the banner when the server starts, and never again. */
  readonly announces: boolean
}

/** Undefined in a process that no supervisor of ours has started. */
export function workerStartOf(environment: Environment): WorkerStart | undefined {
  const start = environment[WORKER_VARIABLE]
  return start === undefined || process.send === undefined ? undefined : (JSON.parse(start) as WorkerStart)
}

/** The same path from `src` and from `dist`. */
const PACKAGE = new URL('../../package.json', import.meta.url)

export function readVersions(): Versions {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }
  return {
    millrace: version,
    node: process.versions.node,
    schema: ledgerMigrations.at(-1)!.name,
    // Read only when it is printed, because it loads the library.
    get driver() {
      const driver = openDriver({ path: ':memory:', synchronous: 'normal' })
      driver.close()
      return driver.name
    },
  }
}

/**
 * Takes over SIGINT and SIGTERM, which then no longer end the process. A signal without a waiter is kept for the next one, so a
 * server that is stopped while it starts stops.
 */
export type Signals = ReturnType<typeof createSignals>

export function createSignals(source: Pick<EventEmitter, 'on' | 'off'>) {
  let waiting: (() => void)[] = []
  let pending = 0
  let reload: (() => void) | undefined
  const onHangUp = () => reload?.()
  const onSignal = () => {
    const due = waiting
    if (due.length === 0) pending += 1
    waiting = []
    for (const resolve of due) resolve()
  }
  source.on('SIGINT', onSignal)
  source.on('SIGTERM', onSignal)
  source.on('SIGHUP', onHangUp)
  return {
    next(): Promise<void> {
      if (pending === 0) return new Promise((resolve) => waiting.push(resolve))
      pending -= 1
      return Promise.resolve()
    },
    /** SIGHUP reloads the configuration. */
    onReload(listener: () => void): void {
      reload = listener
    },
    close(): void {
      source.off('SIGHUP', onHangUp)
      source.off('SIGINT', onSignal)
      source.off('SIGTERM', onSignal)
    },
  }
}
