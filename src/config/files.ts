import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { TextDecoder } from 'node:util'
import { shellWord } from '../lib/anywhere/shell-word.ts'
import type { ConfigProblem } from './problem.ts'

/** Variables by name: what everything else is handed instead of the process's own environment. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The one place that reads `process.env`. A copy, so that what was validated is what is used. */
export const readEnvironment = (): Environment => ({ ...process.env })

interface ConfigSearch {
  /** What `--config` named; null for no file. */
  readonly named: string | null | undefined
  readonly environment: Environment
  readonly cwd: string
  readonly readFile: FileReader
}

export type FoundConfigFile =
  | { readonly kind: 'found'; readonly path: string; readonly text: string; readonly via: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly path: string; readonly via: string; readonly problem: ConfigProblem }

interface Candidate {
  readonly path: string
  readonly via: string
  /** Somebody named it: a missing file is an error, not a reason to look further. */
  readonly named: boolean
}

/** The first file that is there, in the order that the handbook gives. */
export function findConfigFile({ named, ...search }: ConfigSearch): FoundConfigFile {
  if (named === null) return { kind: 'none' }
  for (const candidate of candidatesOf({ ...search, named })) {
    const read = search.readFile(candidate.path)
    const { path, via } = candidate
    if (read.kind === 'text') return { kind: 'found', path, text: read.text, via }
    if (read.kind === 'unreadable') return { kind: 'invalid', path, via, problem: unreadable(path, read.reason) }
    if (candidate.named) return { kind: 'invalid', path, via, problem: missing(path, via) }
  }
  return { kind: 'none' }
}

function candidatesOf({
  named,
  environment,
  cwd,
}: Omit<ConfigSearch, 'named'> & { readonly named: string | undefined }): Candidate[] {
  if (named !== undefined) return [{ path: resolve(cwd, named), via: '--config', named: true }]
  const variable = environment.MILLRACE_CONFIG
  if (variable) return [{ path: resolve(cwd, variable), via: 'MILLRACE_CONFIG', named: true }]
  const home = environment.HOME ?? environment.USERPROFILE
  const xdg = environment.XDG_CONFIG_HOME || (home ? join(home, '.config') : undefined)
  return [
    { path: join(cwd, 'millrace.yaml'), via: 'the working folder', named: false },
    ...(xdg ? [{ path: join(xdg, 'millrace', 'millrace.yaml'), via: 'the XDG folder', named: false }] : []),
    { path: '/etc/millrace/millrace.yaml', via: '/etc', named: false },
  ]
}

const unreadable = (path: string, reason: string): ConfigProblem => ({
  place: { origin: path },
  path: '',
  message: `this file cannot be read: ${reason}`,
  cure: 'Mend that, or name another file: --config FILE.',
})

const missing = (path: string, via: string): ConfigProblem => ({
  place: { origin: path },
  path: '',
  message: `there is no such file (named by ${via})`,
  cure: `Name one that is there, or write it:  millrace init ${shellWord(path)}`,
})

type FileRead =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly reason: string }

/** Handed in, so that a test needs no disk and nobody below reads one by surprise. */
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

const REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
}

interface DataFolderSources {
  /** What `--data` named. */
  readonly flag: string | undefined
  readonly environment: Environment
  /** `storage.data`, which is relative to the file that says it. */
  readonly configured: string | undefined
  readonly configPath: string | undefined
  readonly cwd: string
}

/** Whoever is nearest to the command wins: flag, variable, file, XDG. Undefined on a machine without any home for data. */
export function dataFolder({ flag, environment, configured, configPath, cwd }: DataFolderSources): string | undefined {
  const named = flag ?? (environment.MILLRACE_DATA || undefined)
  if (named !== undefined) return resolve(cwd, named)
  if (configured !== undefined) return resolve(configPath === undefined ? cwd : dirname(configPath), configured)
  if (environment.XDG_DATA_HOME) return join(environment.XDG_DATA_HOME, 'millrace')
  const home = environment.HOME ?? environment.USERPROFILE
  return home ? join(home, '.local', 'share', 'millrace') : undefined
}

/**
 * What stands when there is no file: a model that needs no network, with a small real price, so that the first request
 * already shows a charge. Written in the file's own words and read by the same road.
 */
export const DEFAULT_CONFIG = {
  upstreams: [{ id: 'demo', wire: 'demo' }],
  models: [
    demoModel('demo', 'Streams a made-up answer, word by word.'),
    demoModel('demo-tools', 'Asks for a tool call.'),
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
