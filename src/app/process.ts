import { readFileSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Terminal, Versions } from '../cli/cli-deps.ts'
import type { Environment } from '../config/files.ts'
import { ledgerSchema } from '../db/migrations/ledger-schema.ts'
import { openDriver } from '../db/sqlite/connection.ts'
import { shellWord } from '../lib/anywhere/shell-word.ts'
import { scrub } from '../telemetry/scrub.ts'

/** Errors that nobody caught, wherever in the process they were thrown. */
export interface Faults {
  /** Takes them over from whoever had them before; returns how to give them back. */
  take(onFault: (error: unknown) => void): () => void
}

/**
 * Node's own last resort ends the process on the spot, with turns half-paid and a stack on the terminal. Whoever is the
 * last to have taken the faults decides instead.
 */
export function createFaults(source: Pick<NodeJS.Process, 'on'>, byDefault: (error: unknown) => void): Faults {
  const takers = [byDefault]
  const onFault = (error: unknown) => takers.at(-1)!(error)
  source.on('uncaughtException', onFault)
  source.on('unhandledRejection', onFault)
  return {
    take(taker) {
      takers.push(taker)
      return () => {
        takers.splice(takers.lastIndexOf(taker), 1)
      }
    },
  }
}

/** What a person is told of a failure that nobody expected: what broke and why, without a stack and without secrets. */
export function failureSentences(error: unknown): string[] {
  if (error instanceof AggregateError) return error.errors.flatMap(failureSentences)
  if (!(error instanceof Error)) return [scrub(String(error))]
  // Whoever wraps a failure often quotes it: what was said already is not said again.
  const message = scrub(error.message)
  const causes = error.cause === undefined ? [] : failureSentences(error.cause)
  return [message, ...causes.filter((cause) => !message.includes(cause))]
}

/** Colours are for eyes: a TTY that can show them, unless somebody has said otherwise. */
function coloursOn(stream: { readonly isTTY?: boolean }, environment: Environment): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = environment
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  if (NO_COLOR || TERM === 'dumb') return false
  return stream.isTTY === true
}

export function createProcessTerminal(environment: Environment): Terminal {
  const { stdin, stdout, stderr } = process
  // `millrace keys list | head -1`: who has read enough is no failure of ours.
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
        // The line editor takes Ctrl+C for itself; here it means what it means everywhere.
        lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
      }),
  }
}

interface StartedProgram {
  /** The Node binary: `process.execPath`. */
  readonly node: string
  readonly script: string
  readonly environment: Environment
}

/** The command that starts this program in the user's shell: `millrace` if the PATH leads here, else Node and the script. */
export function programCommand({ node, script, environment }: StartedProgram): string {
  if (resolvesTo(environment, 'millrace', script)) return 'millrace'
  return `${resolvesTo(environment, 'node', node) ? 'node' : shellWord(node)} ${shellWord(script)}`
}

/** Whether the first match for the name on the PATH is this file. */
function resolvesTo(environment: Environment, name: string, file: string): boolean {
  const wanted = realPath(file)
  const first = foldersOf(environment)
    .map((folder) => realPath(join(folder, name)))
    .find((path) => path !== undefined)
  return first !== undefined && first === wanted
}

function foldersOf({ PATH = '', npm_lifecycle_event: byNpm }: Environment): string[] {
  const folders = PATH.split(delimiter).filter((folder) => folder !== '')
  // npm and npx prepend these folders to the PATH; the user's shell does not have them.
  return byNpm === undefined ? folders : folders.filter((folder) => !/node_modules[/\\]\.bin$/.test(folder))
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** The two folders above are the package, from `src` and from `dist` alike. */
const PACKAGE = new URL('../../package.json', import.meta.url)

export function readVersions(): Versions {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }
  return {
    millrace: version,
    node: process.versions.node,
    schema: ledgerSchema.migrations.at(-1)!.name,
    // Asked for only when it is to be printed: it loads the library.
    get driver() {
      const driver = openDriver({ path: ':memory:', synchronous: 'normal' })
      driver.close()
      return driver.name
    },
  }
}

/**
 * Counts the wishes to stop; from the moment it exists they no longer end the process by themselves. One that comes before
 * anybody waits for it is kept for who asks next: a server that is told to stop while it announces itself stops.
 */
export interface Signals {
  next(): Promise<void>
  /** SIGHUP is the wish to read the configuration again. */
  onReload(listener: () => void): void
  close(): void
}

export function createSignals(source: Pick<NodeJS.Process, 'on' | 'off'>): Signals {
  let waiting: (() => void)[] = []
  let unheard = 0
  let reload: (() => void) | undefined
  const onHangUp = () => reload?.()
  const onSignal = () => {
    const due = waiting
    if (due.length === 0) unheard += 1
    waiting = []
    for (const resolve of due) resolve()
  }
  source.on('SIGINT', onSignal)
  source.on('SIGTERM', onSignal)
  source.on('SIGHUP', onHangUp)
  return {
    next: () => {
      if (unheard === 0) return new Promise((resolve) => waiting.push(resolve))
      unheard -= 1
      return Promise.resolve()
    },
    onReload: (listener) => {
      reload = listener
    },
    close: () => {
      source.off('SIGHUP', onHangUp)
      source.off('SIGINT', onSignal)
      source.off('SIGTERM', onSignal)
    },
  }
}
