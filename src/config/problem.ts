import { relative } from 'node:path'

/** Where a value came from. A variable or a flag has no line. */
export interface Place {
  /** A file's path, the name of a variable, or a flag. */
  readonly origin: string
  readonly line?: number
  readonly column?: number
}

export type ConfigPath = readonly (string | number)[]

/** One error in a configuration: its place, its key, what was found and how to fix it. */
export interface ConfigProblem {
  readonly place: Place
  /** `models[0].price.input`, or empty for the file as a whole. */
  readonly path: string
  readonly message: string
  readonly cure: string
  /** `file`: the file cannot be read. `reference`: a `${…}` has no value. `certificate`: of `server.tls`. `pin`: of an import. Left out: the content is wrong. */
  readonly cause?: 'file' | 'reference' | 'certificate' | 'pin'
}

/** `['models', 0, 'price']` as `models[0].price`. */
export function formatPath(path: ConfigPath): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}

export const formatPlace = ({ origin, line, column }: Place, cwd: string): string =>
  line === undefined ? origin : `${shortestPath(origin, cwd)}:${line}:${column}`

/** `millrace.yaml:14:9  upstreams[1].api_key: environment variable X is not set`, with the fix on the next line. */
export function formatProblem({ place, path, message, cure }: ConfigProblem, cwd: string): string[] {
  const where = formatPlace(place, cwd)
  return [`${where}  ${path === '' ? '' : `${path}: `}${message}`, `${' '.repeat(where.length)}  ${cure}`]
}

/** Variables and flags first, then each file from top to bottom. */
export function sortProblems(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const files = [...new Set(problems.map(({ place }) => (place.line === undefined ? '' : place.origin)))]
  const rank = ({ line, origin }: Place): number => (line === undefined ? -1 : files.indexOf(origin))
  return [...problems].sort(
    ({ place: a }, { place: b }) =>
      rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  )
}

/** Relative to the folder where that is shorter. */
export function shortestPath(path: string, cwd: string): string {
  const inside = relative(cwd, path)
  return inside === '' || inside.startsWith('..') ? path : inside
}
