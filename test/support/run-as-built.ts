import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const SRC = fileURLToPath(new URL('../../src/', import.meta.url))
const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))

/** Where `npm run coverage` wants to find what was run. */
const isCounted = process.env.MILLRACE_COVERAGE !== undefined

/**
 * While coverage is counted, tests run the built files, which servers in processes of their own run anyway: so that there is one
 * text of the program to count in, and one map from it to the source.
 */
export const RUN_AS_BUILT = isCounted
  ? [
      {
        name: 'run-as-built',
        enforce: 'pre' as const,
        resolveId(source: string, importer: string | undefined) {
          if (importer === undefined || !source.startsWith('.')) return undefined
          const path = resolve(dirname(importer), source)
          const isProgram = path.startsWith(SRC) && path.endsWith('.ts') && !/\.test\.ts$/.test(path)
          return isProgram ? path.replace(SRC, DIST).replace(/\.ts$/, '.js') : undefined
        },
      },
    ]
  : []

/** Loaded by Node itself, as they are. */
export const BUILT_FILES = isCounted ? { deps: { external: [/\/dist\//] } } : {}

export const COUNT_WHAT_RUNS = isCounted ? ['test/support/count-what-runs.ts'] : []
