import { formatProblem } from './config-problem.ts'
import { type ConfigSources, type LoadedConfig, loadConfig } from './load-config.ts'
import type { Environment } from './read/environment.ts'
import type { ConfigFlags } from './read/overrides.ts'
import { readConfigFile } from './read/read-config-file.ts'

export type SettingsOutcome =
  | { readonly kind: 'loaded'; readonly settings: LoadedConfig }
  /** Every problem with its place and its cure, one under the other. */
  | {
      readonly kind: 'invalid'
      readonly message: string
      /** The data folder, where at least that is known. */
      readonly data: string | undefined
    }

export interface SettingsGround {
  readonly environment: Environment
  readonly cwd: string
}

export const configSources = (ground: SettingsGround, flags: ConfigFlags): ConfigSources => ({
  ...ground,
  flags,
  readFile: readConfigFile,
})

/** The configuration that a command line means, or what is wrong with it in the words of `millrace check`. */
export function loadSettings(ground: SettingsGround, flags: ConfigFlags): SettingsOutcome {
  const outcome = loadConfig(configSources(ground, flags))
  if (outcome.kind === 'loaded') return { kind: 'loaded', settings: outcome }
  return {
    kind: 'invalid',
    data: outcome.data,
    message: outcome.problems.flatMap((problem) => formatProblem(problem, ground.cwd)).join('\n'),
  }
}

export const configPathOf = ({ origin }: LoadedConfig): string | undefined =>
  origin.kind === 'file' ? origin.path : undefined
