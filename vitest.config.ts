import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BUILT_FILES, COUNT_WHAT_RUNS, RUN_AS_BUILT } from './test/support/run-as-built.ts'

/** For what hangs: random tests, tests that read all sources, and servers that start beside others, take seconds on a busy machine. */
const PATIENCE = { testTimeout: 60_000, hookTimeout: 60_000 }

/** Files that run in one process share its modules: loading them anew for each of hundreds was a third of the work. */
const SHARED = { isolate: false }

/** What starts servers has to show that it has closed them: those who come after it in the process would pay for it. */
const TIDY = 'test/support/leave-nothing-behind.ts'

const E2E_SETUP = [
  ...COUNT_WHAT_RUNS,
  TIDY,
  'test/support/explain-every-statement.ts',
  'test/support/check-every-response.ts',
]

/** Every ending of every protocol and wire, and processes that are killed: too long for every `npm test`. */
const LONGER_E2E = ['test/e2e/endings/**/*.test.ts', 'test/e2e/**/process-dies-*.test.ts']

/**
 * `unit` stands beside the code, `console` beside that of the browser, `house` guards the layout and the scripts behind npm, `walks` run the real server on a real database,
 * `sdks` drive real clients, `browser` the built console in a Chromium of this machine, `postgres` runs the books on a server of its own. The long suites (mutants, chaos) are started by .ci/run.
 */
export default defineConfig({
  test: {
    // Walks wait for sockets, timers and other processes more than they work: two cores play four of them at once.
    maxWorkers: availableParallelism() * 2,
    projects: [
      {
        test: {
          name: 'conventions',
          include: ['test/conventions/**/*.test.{ts,mjs}', 'scripts/**/*.test.mjs'],
          ...SHARED,
          ...PATIENCE,
        },
      },
      {
        plugins: RUN_AS_BUILT,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/fuzz/streams/*.test.ts', 'test/translation-gaps/*.test.ts'],
          ...SHARED,
          ...PATIENCE,
          server: BUILT_FILES,
          setupFiles: COUNT_WHAT_RUNS,
        },
      },
      { test: { name: 'console', include: ['console/**/*.test.{ts,tsx}'], ...SHARED, ...PATIENCE } },
      {
        plugins: RUN_AS_BUILT,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: LONGER_E2E,
          ...SHARED,
          ...PATIENCE,
          server: BUILT_FILES,
          setupFiles: E2E_SETUP,
        },
      },
      {
        plugins: RUN_AS_BUILT,
        test: {
          name: 'matrix',
          include: LONGER_E2E,
          ...SHARED,
          ...PATIENCE,
          server: BUILT_FILES,
          setupFiles: E2E_SETUP,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.mjs'],
          globalSetup: ['test/browser/lib/say-without-chromium.mjs'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          // As patient as those who wait for a page to get somewhere (`test/browser/lib/use-console.mjs`).
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        plugins: RUN_AS_BUILT,
        test: {
          name: 'postgres',
          include: ['test/postgres/**/*.test.ts'],
          globalSetup: ['test/support/provide-postgres.ts'],
          ...SHARED,
          ...PATIENCE,
          server: BUILT_FILES,
          setupFiles: [...COUNT_WHAT_RUNS, TIDY],
        },
      },
      {
        test: {
          name: 'sdks',
          include: ['test/sdks/**/*.test.ts'],
          ...SHARED,
          ...PATIENCE,
          setupFiles: [TIDY, 'test/support/check-every-response.ts'],
        },
      },
    ],
  },
})
