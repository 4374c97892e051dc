import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { shellWord } from '../../lib/anywhere/shell-word.ts'
import type { Environment } from '../config/read/environment.ts'

export interface StartedProgram {
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
