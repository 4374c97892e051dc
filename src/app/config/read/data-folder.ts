import { dirname, join, resolve } from 'node:path'
import type { Environment } from './environment.ts'

export interface DataFolderSources {
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
