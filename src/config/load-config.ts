import { dirname, join, resolve } from 'node:path'
import type { ManagedEntry } from '../contract/managed.ts'
import { checkMemoryBudget, checkReferences, checkShape } from './checks.ts'
import { type Config, resolveConfig } from './config.ts'
import {
  DEFAULT_CONFIG,
  dataFolder,
  type Environment,
  type FileReader,
  type FoundConfigFile,
  findConfigFile,
  listConfigFolder,
  readConfigFile,
} from './files.ts'
import { expandImports, type ImportReport, lockPathOf } from './imports.ts'
import { mergeIncludes } from './include.ts'
import { addManaged, ofManaged, ownersOf } from './managed.ts'
import { applyOverrides, type ConfigFlags, originsOf } from './overrides.ts'
import {
  hideCredentials,
  isSecretPath,
  type LocatedNode,
  type LocatedScalar,
  nodeAt,
  parseYaml,
  plainOf,
  treeOf,
  withoutCredentials,
} from './parse-yaml.ts'
import { type ConfigPath, type ConfigProblem, formatPath, formatProblem, type Place, sortProblems } from './problem.ts'
import { configSchema } from './schema.ts'
import { readTls } from './tls.ts'

export interface ConfigSources {
  readonly flags: ConfigFlags
  readonly environment: Environment
  readonly cwd: string
  readonly readFile: FileReader
  /** The names in a folder; empty if there is none. */
  readonly listFolder: (path: string) => readonly string[]
}

export type ConfigOrigin =
  | { readonly kind: 'file'; readonly path: string; readonly via: string }
  | { readonly kind: 'defaults' }

export interface LoadedConfig {
  readonly kind: 'loaded'
  readonly config: Config
  readonly origin: ConfigOrigin
  /** Keys that were set, as `server.port`, and where; other keys are at their default. */
  readonly origins: ReadonlyMap<string, Place>
  /** All files that were read. A change of one is a change of the configuration. */
  readonly files: readonly string[]
  /** Files with a secret: the key of `server.tls`, those of `${file:…}` and of MILLRACE_SECRET_KEY_FILE. */
  readonly secretFiles: readonly string[]
  /** Undefined without imports. */
  readonly imports: (ImportReport & { readonly lockPath: string | undefined }) | undefined
  /** Where a credential is written out instead of being named. */
  readonly writtenCredentials: readonly Place[]
  /** Where the file has the upstreams, models and plans that it names, by `managedKey`. */
  readonly owners: ReadonlyMap<string, string>
}

export type ConfigOutcome =
  | LoadedConfig
  | {
      readonly kind: 'invalid'
      readonly problems: readonly ConfigProblem[]
      readonly origin: ConfigOrigin
      /** Undefined if the readable parts do not name it. */
      readonly data: string | undefined
    }

interface LoadOptions {
  /** `catalogue`: imports as if they were pinned now. */
  readonly pins?: 'locked' | 'catalogue'
  /** What operators manage beside the file. */
  readonly managed?: readonly ManagedEntry[]
}

/** Flag over variable over file over default; all problems are reported at once. */
export function loadConfig(sources: ConfigSources, { pins = 'locked', managed = [] }: LoadOptions = {}): ConfigOutcome {
  const { environment, cwd, flags } = sources
  const found = findConfigFile({ ...sources, named: flags.config })
  const origin: ConfigOrigin =
    found.kind === 'none' ? { kind: 'defaults' } : { kind: 'file', path: found.path, via: found.via }
  const configPath = origin.kind === 'file' ? origin.path : undefined
  const dataOf = (configured: string | undefined) =>
    dataFolder({ flag: flags.data, environment, configured, configPath, cwd })
  if (found.kind === 'invalid') return { kind: 'invalid', problems: [found.problem], origin, data: dataOf(undefined) }
  const secretFiles = new Set<string>()
  const files = new Set<string>(configPath === undefined ? [] : [configPath])
  const readFile: FileReader = (path) => {
    files.add(path)
    return sources.readFile(path)
  }
  const readSecret: FileReader = (path) => {
    secretFiles.add(path)
    return readFile(path)
  }
  const noting: ConfigSources = { ...sources, readFile: readSecret }
  const readTrees = { ...noting, readPlain: readFile, onPattern: (folder: string) => files.add(join(folder, '*')) }
  const { tree, problems, writtenCredentials } = readTree(readTrees, found)
  if (tree.kind !== 'map')
    return { kind: 'invalid', problems: [...problems, ...checkShape(tree)], origin, data: dataOf(undefined) }
  const overrides = applyOverrides(noting, tree)
  hideCredentials(tree)
  const tls = readTls({ readFile, readSecret, cwd }, tree)
  const lockPath = configPath === undefined ? undefined : lockPathOf(configPath)
  const imported = expandImports({ readFile, lockPath, pins }, tree)
  const origins = originsOf(tree)
  const owners = ownersOf(tree, cwd)
  addManaged(tree, managed, owners)
  const all = [
    ...[...problems, ...overrides, ...checkShape(tree), ...checkReferences(tree)],
    ...[...checkMemoryBudget(tree), ...tls.problems, ...imported.problems],
  ]
  const configured = nodeAt(tree, ['storage', 'data'])
  const named = configured?.kind === 'scalar' && typeof configured.value === 'string' ? configured.value : ''
  const data = dataOf(named === '' ? undefined : named)
  if (data === undefined) all.push(NO_DATA_FOLDER)
  if (all.length > 0 || data === undefined)
    return {
      ...{ kind: 'invalid', origin, data },
      problems: sortProblems(withoutEchoes(all)).map(ofManaged).map(withoutCredentials),
    }
  const config = resolveConfig(configSchema.parse(plainOf(tree)), data, tls.pair, imported.report?.origins)
  return {
    ...{ kind: 'loaded', config, origin, origins, writtenCredentials, owners },
    files: [...files],
    secretFiles: [...secretFiles],
    imports: imported.report && { ...imported.report, lockPath },
  }
}

/** A part of a configuration, as a value. Its references are replaced; its content is not checked. */
export function readFragment(
  { environment, readFile, cwd }: Pick<ConfigSources, 'environment' | 'readFile' | 'cwd'>,
  named: string,
):
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'invalid'; readonly lines: readonly string[] } {
  const path = resolve(cwd, named)
  const file = readFile(path)
  if (file.kind !== 'text') {
    const why = file.kind === 'missing' ? 'There is no such file' : `This file cannot be read: ${file.reason}`
    return { kind: 'invalid', lines: [`${path}: ${why}.`] }
  }
  const parsed = parseYaml(file.text, path)
  const { tree, problems } = interpolate({ environment, readFile, folder: dirname(path) }, parsed.tree)
  const all = [...parsed.problems, ...problems]
  if (all.length > 0)
    return { kind: 'invalid', lines: all.map(withoutCredentials).flatMap((problem) => formatProblem(problem, cwd)) }
  return { kind: 'read', value: plainOf(tree) }
}

interface TreeSources extends ConfigSources {
  /** Reads a file of the configuration, which is no secret. */
  readonly readPlain: FileReader
  readonly onPattern: (folder: string) => void
}

/** The file with all that it includes. */
function readTree({ environment, readFile, readPlain, listFolder, onPattern }: TreeSources, found: FoundConfigFile) {
  const problems: ConfigProblem[] = []
  const writtenCredentials: Place[] = []
  if (found.kind !== 'found')
    return { tree: treeOf(DEFAULT_CONFIG, { origin: 'default' }), problems, writtenCredentials }
  const readOne = (text: string, path: string) => {
    const parsed = parseYaml(text, path)
    const replaced = interpolate({ environment, readFile, folder: dirname(path) }, parsed.tree)
    writtenCredentials.push(...credentialsWrittenIn(parsed.tree))
    return { tree: replaced.tree, problems: [...parsed.problems, ...replaced.problems] }
  }
  const main = readOne(found.text, found.path)
  problems.push(...main.problems)
  const { tree } = main
  if (tree.kind === 'map') {
    const sources = { readTree: readOne, readFile: readPlain, listFolder, onPattern }
    problems.push(...mergeIncludes(sources, tree, found.path))
  }
  return { tree, problems, writtenCredentials }
}

/** Keys that are always a credential, and URLs with a password. Other headers may be anything. */
function credentialsWrittenIn(node: LocatedNode, key = ''): Place[] {
  if (node.kind === 'list') return node.items.flatMap((item) => credentialsWrittenIn(item, key))
  if (node.kind === 'map') return [...node.entries].flatMap(([name, entry]) => credentialsWrittenIn(entry.node, name))
  if (typeof node.value !== 'string' || node.value === '' || node.value.includes('${')) return []
  const isCredential =
    CREDENTIAL_KEYS.has(key.toLowerCase()) || (key === 'database' && /:\/\/[^/]*:[^/]*@/.test(node.value))
  return isCredential ? [node.place] : []
}

const CREDENTIAL_KEYS: ReadonlySet<string> = new Set(['api_key', 'secret_key', 'authorization', 'x-api-key'])

/** An unreadable value also has the wrong shape. The first problem of a key is the useful one. */
function withoutEchoes(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const reported = new Set<string>()
  return problems.filter(({ path, place }) => {
    // The items of an included list have other positions in the whole.
    const subject = `${path.replace(/\[\d+\]/g, '[]')} ${place.origin} ${place.line} ${place.column}`
    if (path !== '' && reported.has(subject)) return false
    reported.add(subject)
    return true
  })
}

const NO_DATA_FOLDER: ConfigProblem = {
  place: { origin: 'environment' },
  path: 'storage.data',
  message: 'neither HOME nor XDG_DATA_HOME is set, so there is no default data folder',
  cure: 'Name a folder: --data DIR, MILLRACE_DATA or storage.data.',
}

interface InterpolationSources {
  readonly environment: Environment
  readonly readFile: FileReader
  /** Relative `${file:…}` start here: the folder of the configuration. */
  readonly folder: string
}

/** `$${` is a literal `${`; `${NAME}`, `${NAME:-default}` and `${file:/path}` are replaced. */
const REFERENCE = /\$\$\{|\$\{([^{}]*)\}/g

/** A new tree with every `${…}` replaced. A reference without a value is a problem. */
function interpolate(sources: InterpolationSources, root: LocatedNode) {
  const problems: ConfigProblem[] = []
  const visit = (node: LocatedNode, path: ConfigPath): LocatedNode => {
    switch (node.kind) {
      case 'scalar':
        return replaceIn(sources, node, path, problems)
      case 'list':
        return { ...node, items: node.items.map((item, index) => visit(item, [...path, index])) }
      case 'map': {
        const entries = [...node.entries].map(
          ([key, entry]) => [key, { ...entry, node: visit(entry.node, [...path, key]) }] as const,
        )
        return { ...node, entries: new Map(entries) }
      }
    }
  }
  return { tree: visit(root, []), problems }
}

function replaceIn(
  sources: InterpolationSources,
  node: LocatedScalar,
  path: ConfigPath,
  problems: ConfigProblem[],
): LocatedScalar {
  if (typeof node.value !== 'string' || !node.value.includes('${')) return node
  const value = node.value.replace(REFERENCE, (whole, reference: string | undefined) => {
    if (reference === undefined) return '${'
    const found = resolveReference(sources, reference)
    if (found.kind === 'value') return found.value
    // A credential may have been written between the braces instead of its variable.
    const message = found.kind === 'malformed' && isSecretPath(path) ? 'this is not a reference' : found.message
    const cause = found.kind === 'problem' ? { cause: 'reference' as const } : {}
    problems.push({ place: node.place, path: formatPath(path), message, cure: found.cure, ...cause })
    return whole
  })
  return { ...node, value }
}

type ResolvedReference =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'problem' | 'malformed'; readonly message: string; readonly cure: string }

function resolveReference(sources: InterpolationSources, reference: string): ResolvedReference {
  if (reference.startsWith('file:')) return readSecretFile(sources, reference.slice('file:'.length))
  const match = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(reference)
  if (match === null) {
    return {
      kind: 'malformed',
      message: `\${${reference.slice(0, 60)}} is not a reference`,
      cure: `Write \${NAME}, \${NAME:-default} or \${file:/path}; for a literal \${ write $\${.`,
    }
  }
  const [, name = '', fallback] = match
  const value = sources.environment[name]
  // As in a shell, `:-` also replaces an empty variable.
  if (fallback !== undefined) return { kind: 'value', value: value || fallback }
  if (value !== undefined) return { kind: 'value', value }
  return noValue(`environment variable ${name} is not set`, `Set it, or give a default: \${${name}:-}`)
}

const noValue = (message: string, cure: string): ResolvedReference => ({ kind: 'problem', message, cure })

function readSecretFile({ readFile, folder }: InterpolationSources, named: string): ResolvedReference {
  const path = resolve(folder, named)
  const file = readFile(path)
  switch (file.kind) {
    case 'text':
      // Editors and `echo` end a file with a line break.
      return { kind: 'value', value: file.text.replace(/\r?\n$/, '') }
    case 'missing':
      return noValue(`there is no file ${path}`, `Create it, or name another: \${file:/path}.`)
    case 'unreadable':
      return noValue(`the file ${path} cannot be read: ${file.reason}`, 'Fix its permissions.')
  }
}

export type SettingsOutcome =
  | { readonly kind: 'loaded'; readonly settings: LoadedConfig }
  | {
      readonly kind: 'invalid'
      /** Every problem with its place and its fix, one per line. */
      readonly message: string
      /** The data folder, if it is known. */
      readonly data: string | undefined
    }

type SettingsContext = Pick<ConfigSources, 'environment' | 'cwd'>

export const configSources = (context: SettingsContext, flags: ConfigFlags): ConfigSources => ({
  ...context,
  flags,
  readFile: readConfigFile,
  listFolder: listConfigFolder,
})

/** The configuration of a command line, or its problems in the format of `millrace check`. */
export function loadSettings(
  context: SettingsContext,
  flags: ConfigFlags,
  managed: readonly ManagedEntry[] = [],
): SettingsOutcome {
  const outcome = loadConfig(configSources(context, flags), { managed })
  if (outcome.kind === 'loaded') return { kind: 'loaded', settings: outcome }
  const message = outcome.problems.flatMap((problem) => formatProblem(problem, context.cwd)).join('\n')
  return { kind: 'invalid', data: outcome.data, message }
}

export const configPathOf = ({ origin }: LoadedConfig): string | undefined =>
  origin.kind === 'file' ? origin.path : undefined
