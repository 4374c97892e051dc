import { dirname } from 'node:path'
import { checkMemoryBudget, checkNotYet, checkReferences, checkShape } from './checks.ts'
import type { Config } from './config.ts'
import {
  DEFAULT_CONFIG,
  dataFolder,
  type Environment,
  type FileReader,
  type FoundConfigFile,
  findConfigFile,
  readConfigFile,
} from './files.ts'
import { interpolate } from './interpolate.ts'
import { applyOverrides, type ConfigFlags, originsOf } from './overrides.ts'
import {
  hideCredentials,
  type LocatedMap,
  type LocatedNode,
  parseYaml,
  plainOf,
  treeOf,
  withoutCredentials,
} from './parse-yaml.ts'
import { type ConfigProblem, formatProblem, type Place, sortProblems } from './problem.ts'
import { resolveConfig } from './resolve-config.ts'
import { configSchema } from './schema.ts'

export interface ConfigSources {
  readonly flags: ConfigFlags
  readonly environment: Environment
  readonly cwd: string
  readonly readFile: FileReader
}

/** Where the configuration came from: what the banner says, and what a first run depends on. */
export type ConfigOrigin =
  | { readonly kind: 'file'; readonly path: string; readonly via: string }
  | { readonly kind: 'defaults' }

export interface LoadedConfig {
  readonly kind: 'loaded'
  readonly config: Config
  readonly origin: ConfigOrigin
  /** Keys that were set, as `server.port`, and where; a key that is not in here stands at its default. */
  readonly origins: ReadonlyMap<string, Place>
}

export type ConfigOutcome =
  | LoadedConfig
  | {
      readonly kind: 'invalid'
      readonly problems: readonly ConfigProblem[]
      readonly origin: ConfigOrigin
      /** Undefined if the parts that could be read do not name it. */
      readonly data: string | undefined
    }

/** Flag over variable over file over default; read whole, judged whole, all problems at once. */
export function loadConfig(sources: ConfigSources): ConfigOutcome {
  const found = findConfigFile({ ...sources, named: sources.flags.config })
  const origin: ConfigOrigin =
    found.kind === 'none' ? { kind: 'defaults' } : { kind: 'file', path: found.path, via: found.via }
  const configPath = origin.kind === 'file' ? origin.path : undefined
  const { environment, cwd, flags } = sources
  const dataOf = (configured: string | undefined) =>
    dataFolder({ flag: flags.data, environment, configured, configPath, cwd })
  if (found.kind === 'invalid') return { kind: 'invalid', problems: [found.problem], origin, data: dataOf(undefined) }
  const { tree, problems } = readTree(sources, found)
  if (tree.kind !== 'map')
    return { kind: 'invalid', problems: [...problems, ...checkShape(tree)], origin, data: dataOf(undefined) }
  const overrides = applyOverrides(sources, tree)
  hideCredentials(tree)
  const all = [
    ...[...problems, ...overrides, ...checkShape(tree), ...checkReferences(tree)],
    ...[...checkMemoryBudget(tree), ...checkNotYet(tree)],
  ]
  const data = dataOf(configuredData(tree))
  if (data === undefined) all.push(NO_DATA_FOLDER)
  if (all.length > 0 || data === undefined)
    return { kind: 'invalid', problems: sortProblems(withoutEchoes(all)).map(withoutCredentials), origin, data }
  return {
    kind: 'loaded',
    config: resolveConfig(configSchema.parse(plainOf(tree)), data),
    origin,
    origins: originsOf(tree),
  }
}

function readTree(sources: ConfigSources, found: FoundConfigFile): { tree: LocatedNode; problems: ConfigProblem[] } {
  if (found.kind !== 'found') return { tree: treeOf(DEFAULT_CONFIG, { origin: 'default' }), problems: [] }
  const parsed = parseYaml(found.text, found.path)
  const { environment, readFile } = sources
  const { tree, problems } = interpolate({ environment, readFile, folder: dirname(found.path) }, parsed.tree)
  return { tree, problems: [...parsed.problems, ...problems] }
}

/** A value that could not be read is also of the wrong shape: the first word about a key is the useful one. */
function withoutEchoes(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const said = new Set<string>()
  return problems.filter(({ path, place }) => {
    const subject = `${path} ${place.origin} ${place.line} ${place.column}`
    if (path !== '' && said.has(subject)) return false
    said.add(subject)
    return true
  })
}

function configuredData(tree: LocatedMap): string | undefined {
  const storage = tree.entries.get('storage')?.node
  const data = storage?.kind === 'map' ? storage.entries.get('data')?.node : undefined
  return data?.kind === 'scalar' && typeof data.value === 'string' && data.value !== '' ? data.value : undefined
}

const NO_DATA_FOLDER: ConfigProblem = {
  place: { origin: 'environment' },
  path: 'storage.data',
  message: 'neither HOME nor XDG_DATA_HOME is set, so there is no place for data',
  cure: 'Name a folder: --data DIR, MILLRACE_DATA or storage.data.',
}

export type SettingsOutcome =
  | { readonly kind: 'loaded'; readonly settings: LoadedConfig }
  /** Every problem with its place and its cure, one under the other. */
  | {
      readonly kind: 'invalid'
      readonly message: string
      /** The data folder, where at least that is known. */
      readonly data: string | undefined
    }

interface SettingsContext {
  readonly environment: Environment
  readonly cwd: string
}

export const configSources = (ground: SettingsContext, flags: ConfigFlags): ConfigSources => ({
  ...ground,
  flags,
  readFile: readConfigFile,
})

/** The configuration that a command line means, or what is wrong with it in the words of `millrace check`. */
export function loadSettings(ground: SettingsContext, flags: ConfigFlags): SettingsOutcome {
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
