import { type ConfigOutcome, type ConfigSources, loadConfig } from './load-config.ts'
import type { ConfigFlags } from './overrides.ts'
import { formatProblem } from './problem.ts'

/** A little world for tests: files by path, variables, flags. */
export interface World {
  readonly yaml?: string
  readonly files?: Readonly<Record<string, string>>
  /** A file that this user may not read. */
  readonly unreadable?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly flags?: ConfigFlags
}

export function sourcesOf({ yaml, files = {}, unreadable, environment = {}, flags = {} }: World): ConfigSources {
  const all: Record<string, string> = { ...files, ...(yaml === undefined ? {} : { '/srv/millrace.yaml': yaml }) }
  return {
    flags,
    environment: { HOME: '/home/op', ...environment },
    cwd: '/srv',
    readFile(path) {
      if (path === unreadable) return { kind: 'unreadable', reason: 'permission denied' }
      return Object.hasOwn(all, path) ? { kind: 'text', text: all[path]! } : { kind: 'missing' }
    },
  }
}

export const DEMO_YAML = 'upstreams: [{ id: demo, wire: demo }]\n'

/** A model on the demo, with these keys. */
export const modelYaml = (keys: string, lanes = 'lanes: [{ upstream: demo, model: x }]'): string =>
  `${DEMO_YAML}models:\n  - { id: m, context_tokens: 1000, max_output_tokens: 100, ${lanes}, ${keys} }\n`

export const pricedYaml = (price: string): string => modelYaml(`price: { ${price} }`)

export const load = (world: World): ConfigOutcome => loadConfig(sourcesOf(world))

export function loaded(world: World) {
  const outcome = load(world)
  if (outcome.kind === 'invalid')
    throw new Error(outcome.problems.flatMap((one) => formatProblem(one, '/srv')).join('\n'))
  return outcome
}

/** `4:9 models[0].price.input`, one for each problem, in the order in which they are told. */
export function placesOf(world: World): string[] {
  const outcome = load(world)
  if (outcome.kind === 'loaded') return []
  return outcome.problems.map(({ place, path }) =>
    place.line === undefined ? `${place.origin} ${path}` : `${place.line}:${place.column} ${path}`,
  )
}

export function problemsOf(world: World) {
  const outcome = load(world)
  return outcome.kind === 'loaded' ? [] : outcome.problems
}
