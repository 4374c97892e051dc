import { relative } from 'node:path'

/** Where a value came from. A variable or a flag has no line. */
export interface Place {
  /** A file's path, the name of a variable, or a flag. */
  readonly origin: string
  readonly line?: number
  readonly column?: number
}

export type ConfigPath = readonly (string | number)[]

/** One thing that is wrong with a configuration: where, at which key, what was found and what cures it. */
export interface ConfigProblem {
  readonly place: Place
  /** `models[0].price.input`, or empty when the file as a whole is meant. */
  readonly path: string
  readonly message: string
  readonly cure: string
}

/** `['models', 0, 'price']` as people write it: `models[0].price`. */
export function formatPath(path: ConfigPath): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}

export function formatPlace(place: Place, cwd: string): string {
  if (place.line === undefined) return place.origin
  return `${shortestPath(place.origin, cwd)}:${place.line}:${place.column}`
}

/** `millrace.yaml:14:9  upstreams[1].api_key: environment variable X is not set`, and the cure on a line of its own. */
export function formatProblem(problem: ConfigProblem, cwd: string): string[] {
  const place = formatPlace(problem.place, cwd)
  const subject = problem.path === '' ? '' : `${problem.path}: `
  return [`${place}  ${subject}${problem.message}`, `${' '.repeat(place.length)}  ${problem.cure}`]
}

/** In the order in which a reader meets them: variables and flags first, then down the file. */
export function sortProblems(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const line = (problem: ConfigProblem) => problem.place.line ?? 0
  const column = (problem: ConfigProblem) => problem.place.column ?? 0
  return [...problems].sort((a, b) => line(a) - line(b) || column(a) - column(b))
}

/** As somebody in this folder would write it. */
export function shortestPath(path: string, cwd: string): string {
  const inside = relative(cwd, path)
  return inside === '' || inside.startsWith('..') ? path : inside
}
