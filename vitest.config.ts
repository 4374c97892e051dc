import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/**
 * `unit` stands beside the code, `house` guards the layout and the scripts behind npm, `walks` run the real server on a real database,
 * `sdks` drive real clients, `postgres` runs the books on a server of its own. The long suites (mutants, chaos) are started by .ci/run.
 */
export default defineConfig({
  test: {
    // Walks wait for sockets, timers and other processes more than they work: two cores play four of them at once.
    maxWorkers: availableParallelism() * 2,
    projects: [
      // The limits are there for what hangs: random tests, and tests that read all sources, take seconds on a busy machine.
      {
        test: {
          name: 'house',
          include: ['test/house/**/*.test.{ts,mjs}', 'scripts/**/*.test.mjs'],
          testTimeout: 60_000,
        },
      },
      { test: { name: 'unit', include: ['src/**/*.test.ts'], testTimeout: 60_000 } },
      {
        test: {
          name: 'walks',
          include: ['test/walks/**/*.test.ts'],
          testTimeout: 60_000,
          setupFiles: ['test/support/explain-every-statement.ts', 'test/support/check-every-response.ts'],
        },
      },
      {
        test: {
          name: 'postgres',
          include: ['test/postgres/**/*.test.ts'],
          globalSetup: ['test/support/provide-postgres.ts'],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'sdks',
          include: ['test/sdks/**/*.test.ts'],
          setupFiles: ['test/support/check-every-response.ts'],
          testTimeout: 60_000,
        },
      },
    ],
  },
})
