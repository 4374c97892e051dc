import { resolve } from 'node:path'
import { z } from 'zod'
import { nearestName } from '../lib/text.ts'
import type { Environment, FileReader } from './files.ts'
import { type LocatedMap, type LocatedNode, type LocatedScalar, setAt } from './parse-yaml.ts'
import type { ConfigProblem, Place } from './problem.ts'
import { bareSchema, configSchema, keysOf, schemaAt } from './schema.ts'

/** Configuration flags of the command line. `config` and `data` have rules of their own. */
export interface ConfigFlags {
  /** Null: no file, even if one exists. */
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

/** Sets variables and then flags over the file. */
export function applyOverrides(sources: OverrideSources, tree: LocatedMap): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const { PORT, MILLRACE_HOST, MILLRACE_PORT } = sources.environment
  const set = (path: readonly string[], value: string, origin: string) => setAt(tree, path, textNode(value, { origin }))
  // Platforms set `PORT` for everything they run: the weakest of the variables.
  if (PORT) set(['server', 'port'], PORT, 'PORT')
  for (const [name, value] of Object.entries(sources.environment)) {
    if (value && name.startsWith('MILLRACE_') && name.includes('__')) overrideNested(tree, name, value, problems)
  }
  if (MILLRACE_HOST) set(['server', 'host'], MILLRACE_HOST, 'MILLRACE_HOST')
  // Kubernetes sets MILLRACE_PORT=tcp://… for a service called millrace.
  if (MILLRACE_PORT && !MILLRACE_PORT.startsWith('tcp://')) set(['server', 'port'], MILLRACE_PORT, 'MILLRACE_PORT')
  overrideSecret(sources, tree, problems)
  for (const [name, [flag, ...path]] of Object.entries(FLAG_PATHS)) {
    const value = sources.flags[name as keyof typeof FLAG_PATHS]
    if (value !== undefined) set(path, String(value), flag)
  }
  return problems
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
    const message = 'a variable cannot hold a map or a list of maps'
    problems.push({ place, path: path.join('.'), message, cure: 'Write it into the file.' })
  } else setAt(tree, path, textNode(value, place))
}

function overrideSecret({ environment, readFile, cwd }: OverrideSources, tree: LocatedMap, problems: ConfigProblem[]) {
  const { MILLRACE_SECRET_KEY: secret, MILLRACE_SECRET_KEY_FILE: named } = environment
  const path = ['key_ring', 'secret_key']
  if (secret) setAt(tree, path, textNode(secret, { origin: 'MILLRACE_SECRET_KEY' }))
  if (!named) return
  const place: Place = { origin: 'MILLRACE_SECRET_KEY_FILE' }
  const refuse = (message: string, cure: string) =>
    problems.push({ place, path: path.join('.'), message, cure, cause: 'reference' })
  if (secret) {
    refuse('MILLRACE_SECRET_KEY is set as well', 'Set one of the two.')
    return
  }
  const file = readFile(resolve(cwd, named))
  if (file.kind === 'text') setAt(tree, path, textNode(file.text.trim(), place))
  else if (file.kind === 'missing') refuse(`there is no file ${named}`, 'Fix the path, or create the file.')
  else refuse(`the file ${named} cannot be read: ${file.reason}`, 'Fix its permissions.')
}

const textNode = (value: string, place: Place): LocatedScalar => ({ kind: 'scalar', place, value, source: value })

/** Keys that were set, and where. Other keys are at their default. */
export function originsOf(
  node: LocatedNode,
  path = '',
  origins = new Map<string, Place>(),
): ReadonlyMap<string, Place> {
  if (node.kind === 'map') {
    for (const [key, entry] of node.entries) originsOf(entry.node, path === '' ? key : `${path}.${key}`, origins)
    return origins
  }
  if (node.kind === 'list')
    for (const [index, item] of node.items.entries()) originsOf(item, `${path}[${index}]`, origins)
  return origins.set(path, node.place)
}
