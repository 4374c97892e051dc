import { resolve } from 'node:path'
import { z } from 'zod'
import { nearestName } from '../lib/text.ts'
import type { Environment, FileReader } from './files.ts'
import { type LocatedMap, type LocatedNode, type LocatedScalar, setAt } from './parse-yaml.ts'
import type { ConfigProblem, Place } from './problem.ts'
import { bareSchema, configSchema, keysOf, schemaAt } from './schema.ts'

/** What the command line may say about a configuration. `config` and `data` have rules of their own. */
export interface ConfigFlags {
  /** Null: no file, wherever one lies. */
  readonly config?: string | null | undefined
  readonly data?: string | undefined
  readonly host?: string | undefined
  readonly port?: string | number | undefined
  readonly metricsPort?: string | number | undefined
  readonly console?: string | undefined
  readonly logLevel?: string | undefined
  readonly logFormat?: string | undefined
}

const FLAG_PATHS = {
  host: ['--host', 'server', 'host'],
  port: ['--port', 'server', 'port'],
  metricsPort: ['--metrics-port', 'server', 'metrics_port'],
  console: ['--no-console', 'console', 'enabled'],
  logLevel: ['--log-level', 'telemetry', 'log', 'level'],
  logFormat: ['--log-format', 'telemetry', 'log', 'format'],
} as const satisfies Partial<Record<keyof ConfigFlags, readonly string[]>>

interface OverrideSources {
  readonly flags: ConfigFlags
  readonly environment: Environment
  readonly readFile: FileReader
  readonly cwd: string
}

/** Lays variables and then flags over what the file says. */
export function applyOverrides(sources: OverrideSources, tree: LocatedMap): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  overridePort(sources.environment, tree)
  for (const [name, value] of Object.entries(sources.environment)) {
    if (value && name.startsWith('MILLRACE_') && name.includes('__')) overrideNested(tree, name, value, problems)
  }
  overrideShort(sources.environment, tree)
  overrideSecret(sources, tree, problems)
  for (const [name, [flag, ...path]] of Object.entries(FLAG_PATHS)) {
    const value = sources.flags[name as keyof typeof FLAG_PATHS]
    if (value !== undefined) setAt(tree, path, textNode(String(value), { origin: flag }))
  }
  return problems
}

/** `PORT` is what platforms set for whatever they run: the weakest of the variables. */
function overridePort(environment: Environment, tree: LocatedMap): void {
  if (environment.PORT) setAt(tree, ['server', 'port'], textNode(environment.PORT, { origin: 'PORT' }))
}

function overrideShort(environment: Environment, tree: LocatedMap): void {
  const { MILLRACE_PORT, MILLRACE_HOST } = environment
  if (MILLRACE_HOST) setAt(tree, ['server', 'host'], textNode(MILLRACE_HOST, { origin: 'MILLRACE_HOST' }))
  // Kubernetes sets tcp://… under this very name for a service that is called millrace: not ours, so not an error.
  if (MILLRACE_PORT && !MILLRACE_PORT.startsWith('tcp://')) {
    setAt(tree, ['server', 'port'], textNode(MILLRACE_PORT, { origin: 'MILLRACE_PORT' }))
  }
}

/** `MILLRACE_SERVER__ALLOWED_ORIGINS=https://a.example,https://b.example`: levels by two underscores, lists by commas. */
function overrideNested(tree: LocatedMap, name: string, value: string, problems: ConfigProblem[]): void {
  const place: Place = { origin: name }
  const path = name.slice('MILLRACE_'.length).toLowerCase().split('__')
  const schema = schemaAt(configSchema, path)
  if (schema === undefined) {
    const siblings = keysOf(schemaAt(configSchema, path.slice(0, -1)))
    const near = nearestName(path.at(-1) ?? '', siblings)
    const cure = near === undefined ? 'Unset the variable.' : `Did you mean ${near.toUpperCase()}?`
    problems.push({ place, path: path.join('.'), message: 'there is no such key', cure })
    return
  }
  const bare = bareSchema(schema)
  const isListOfTexts = bare instanceof z.ZodArray && !(bareSchema(bare.element as z.ZodType) instanceof z.ZodObject)
  if (isListOfTexts) {
    const items = value.split(',').map((item) => textNode(item.trim(), place))
    setAt(tree, path, { kind: 'list', place, items })
  } else if (bare instanceof z.ZodArray || bare instanceof z.ZodObject || bare instanceof z.ZodRecord) {
    const message = 'a variable cannot hold a list or a map of maps'
    problems.push({ place, path: path.join('.'), message, cure: 'Write it into the file.' })
  } else setAt(tree, path, textNode(value, place))
}

function overrideSecret({ environment, readFile, cwd }: OverrideSources, tree: LocatedMap, problems: ConfigProblem[]) {
  const { MILLRACE_SECRET_KEY: secret, MILLRACE_SECRET_KEY_FILE: named } = environment
  const path = ['key_ring', 'secret_key']
  if (secret) setAt(tree, path, textNode(secret, { origin: 'MILLRACE_SECRET_KEY' }))
  if (!named) return
  const place: Place = { origin: 'MILLRACE_SECRET_KEY_FILE' }
  const refuse = (message: string, cure: string) => problems.push({ place, path: path.join('.'), message, cure })
  if (secret) {
    refuse('MILLRACE_SECRET_KEY is set as well', 'Set one of the two.')
    return
  }
  const file = readFile(resolve(cwd, named))
  if (file.kind === 'text') setAt(tree, path, textNode(file.text.trim(), place))
  else
    refuse(
      `the file ${named} ${file.kind === 'missing' ? 'is not there' : `cannot be read: ${file.reason}`}`,
      'Mend the path or its rights.',
    )
}

const textNode = (value: string, place: Place): LocatedScalar => ({ kind: 'scalar', place, value, source: value })

/** Which keys were set, and where: what is not in here stands at its default. */
export function originsOf(
  node: LocatedNode,
  path = '',
  origins = new Map<string, Place>(),
): ReadonlyMap<string, Place> {
  switch (node.kind) {
    case 'map':
      for (const [key, entry] of node.entries) originsOf(entry.node, path === '' ? key : `${path}.${key}`, origins)
      break
    case 'list':
      for (const [index, item] of node.items.entries()) originsOf(item, `${path}[${index}]`, origins)
      origins.set(path, node.place)
      break
    case 'scalar':
      origins.set(path, node.place)
  }
  return origins
}
