import { join, resolve } from 'node:path'
import { shellWord } from '../../../lib/anywhere/shell-word.ts'
import type { ConfigProblem } from '../config-problem.ts'
import type { Environment } from './environment.ts'
import type { FileReader } from './read-config-file.ts'

export interface ConfigSearch {
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
