import { formatProblem } from './config-problem.ts'
import type { ConfigOutcome, ConfigSources } from './load-config.ts'
import { loadConfig } from './load-config.ts'
import type { ConfigFlags } from './read/overrides.ts'

/** A little world for tests: files by path, variables, flags. */
export interface World {
  readonly yaml?: string
  readonly files?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
  readonly flags?: ConfigFlags
}

export function sourcesOf({ yaml, files = {}, environment = {}, flags = {} }: World): ConfigSources {
  const all: Record<string, string> = { ...files, ...(yaml === undefined ? {} : { '/srv/millrace.yaml': yaml }) }
  return {
    flags,
    environment: { HOME: '/home/op', ...environment },
    cwd: '/srv',
    readFile: (path) => (Object.hasOwn(all, path) ? { kind: 'text', text: all[path]! } : { kind: 'missing' }),
  }
}

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
