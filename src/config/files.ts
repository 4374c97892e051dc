import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { TextDecoder } from 'node:util'
import { shellWord } from '../lib/anywhere/text.ts'
import type { ConfigProblem } from './problem.ts'

/** Variables by name. Only main.ts reads the process's own environment. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The only reader of `process.env`. A copy, so that later changes do not bypass validation. */
export const readEnvironment = (): Environment => ({ ...process.env })

interface ConfigSearch {
  /** The file of `--config`; null for no file. */
  readonly named: string | null | undefined
  readonly environment: Environment
  readonly cwd: string
  readonly readFile: FileReader
}

export type FoundConfigFile =
  | { readonly kind: 'found'; readonly path: string; readonly text: string; readonly via: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly path: string; readonly via: string; readonly problem: ConfigProblem }

/** The first existing file, in the order of docs/operate/configuration.md. */
export function findConfigFile({ named, environment, cwd, readFile }: ConfigSearch): FoundConfigFile {
  if (named === null) return { kind: 'none' }
  for (const { path, via, isNamed } of candidatesOf(named, environment, cwd)) {
    const read = readFile(path)
    if (read.kind === 'text') return { kind: 'found', path, text: read.text, via }
    if (read.kind === 'unreadable') {
      const message = `this file cannot be read: ${read.reason}`
      const cure = 'Fix that, or name another: --config FILE.'
      return { kind: 'invalid', path, via, problem: fileProblem(path, message, cure) }
    }
    if (isNamed) {
      const message = `there is no such file (named by ${via})`
      const cure = `Name an existing file, or create it:  millrace init ${shellWord(path)}`
      return { kind: 'invalid', path, via, problem: fileProblem(path, message, cure) }
    }
  }
  return { kind: 'none' }
}

const fileProblem = (path: string, message: string, cure: string): ConfigProblem => ({
  place: { origin: path },
  path: '',
  message,
  cure,
  cause: 'file',
})

interface Candidate {
  readonly path: string
  readonly via: string
  /** The operator named it: a missing file is an error. */
  readonly isNamed: boolean
}

function candidatesOf(named: string | undefined, environment: Environment, cwd: string): Candidate[] {
  if (named !== undefined) return [{ path: resolve(cwd, named), via: '--config', isNamed: true }]
  const variable = environment.MILLRACE_CONFIG
  if (variable) return [{ path: resolve(cwd, variable), via: 'MILLRACE_CONFIG', isNamed: true }]
  const home = environment.HOME ?? environment.USERPROFILE
  const xdg = environment.XDG_CONFIG_HOME || (home ? join(home, '.config') : undefined)
  return [
    { path: join(cwd, 'millrace.yaml'), via: 'the working folder', isNamed: false },
    ...(xdg ? [{ path: join(xdg, 'millrace', 'millrace.yaml'), via: 'the XDG folder', isNamed: false }] : []),
    { path: '/etc/millrace/millrace.yaml', via: '/etc', isNamed: false },
  ]
}

type FileRead =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly reason: string }

/** Passed in, so that tests need no disk. */
export type FileReader = (path: string) => FileRead

/** Text in UTF-8, with or without a byte order mark. */
export const readConfigFile: FileReader = (path) => {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' }
    return { kind: 'unreadable', reason: REASONS[code] ?? code }
  }
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { kind: 'unreadable', reason: 'it is not UTF-8 text' }
  }
}

/** The names in a folder; empty if there is none, or it cannot be read. */
export function listConfigFolder(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
}

interface DataFolderSources {
  /** The folder of `--data`. */
  readonly flag: string | undefined
  readonly environment: Environment
  /** `storage.data`, relative to the file. */
  readonly configured: string | undefined
  readonly configPath: string | undefined
  readonly cwd: string
}

/** Flag, then variable, file, XDG folder. Undefined on a machine without a home folder. */
export function dataFolder({ flag, environment, configured, configPath, cwd }: DataFolderSources): string | undefined {
  const named = flag ?? (environment.MILLRACE_DATA || undefined)
  if (named !== undefined) return resolve(cwd, named)
  if (configured !== undefined) return resolve(configPath === undefined ? cwd : dirname(configPath), configured)
  if (environment.XDG_DATA_HOME) return join(environment.XDG_DATA_HOME, 'millrace')
  const home = environment.HOME ?? environment.USERPROFILE
  return home ? join(home, '.local', 'share', 'millrace') : undefined
}

/**
 * The configuration without a file: a model that needs no network, with a small real price, so that the first request
 * already shows a charge. It is parsed like a file.
 */
export const DEFAULT_CONFIG = {
  upstreams: [{ id: 'demo', wire: 'demo' }],
  models: [
    demoModel('demo', 'Streams a generated answer, word by word.'),
    demoModel('demo-tools', 'Responds with a tool call.'),
  ],
}

function demoModel(id: string, description: string) {
  return {
    id,
    description,
    efforts: ['low', 'medium', 'high'],
    context_tokens: 128_000,
    max_output_tokens: 8192,
    price: { input: '0.10', cached_input: '0.025', output: '0.40' },
    lanes: [{ upstream: 'demo', model: id }],
  }
}
