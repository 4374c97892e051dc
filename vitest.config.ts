import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BUILT_FILES, COUNT_WHAT_RUNS, RUN_AS_BUILT } from './test/support/run-as-built.ts'

/** Only a hang exceeds this: random tests and server starts take seconds on a busy machine. */
const PATIENCE = { testTimeout: 60_000, hookTimeout: 60_000 }

/** Test files in one process share its modules: loading them for each file was a third of the work. */
const SHARED = { isolate: false }

const TRANSFORMED = fileURLToPath(new URL('.cache/transformed', import.meta.url))

/** Fails a file that leaves a server, timer or listener behind for the next file in its process. */
const TIDY = 'test/support/leave-nothing-behind.ts'

const E2E_SETUP = [
  ...COUNT_WHAT_RUNS,
  TIDY,
  'test/support/explain-every-statement.ts',
  'test/support/check-every-response.ts',
]

/** They start the program in processes of its own or take seconds of CPU time: too long for every `npm test`. */
const LONG = ['src/**/*.long.test.ts', 'test/**/*.long.test.ts']

const LONG_ON_POSTGRES = ['test/postgres/**/*.long.test.ts']

/**
 * The suites: `unit` (beside the code, stream fuzzing, translation gaps), `console`, `conventions` (layout, docs, scripts), `e2e` (the real
 * server on a real database), `long` (unit and e2e tests that take long, NAME.long.test.ts), `sdks` (real clients), `browser` (the built
 * console in Chromium), `postgres` (the ledger on a server of its own). Mutants, chaos, power and soak are programs that `.ci/run` starts.
 */
export default defineConfig({
  test: {
    // Tests also wait for sockets, timers and the disk, so two cores run three files at once. Each more would load all modules again.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // Suites and runs share what has been transformed: a third of the CPU time of a short run was that.
    experimental: { fsModuleCache: true, fsModuleCachePath: TRANSFORMED },
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
          exclude: LONG,
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
          exclude: LONG,
          ...SHARED,
          ...PATIENCE,
          server: BUILT_FILES,
          setupFiles: E2E_SETUP,
        },
      },
      {
        plugins: RUN_AS_BUILT,
        test: {
          name: 'e2e-postgres',
          include: ['test/e2e/**/*.test.ts', 'test/postgres/**/*.long.test.ts'],
          // These copy, damage or restore the files of a data folder, or set its clock.
          exclude: [
            'test/e2e/**/*.long.test.ts',
            'test/e2e/restore/**',
            'test/e2e/stored-responses-outlive-the-server.test.ts',
            'test/e2e/lessons/the-ledger-stays-balanced.test.ts',
          ],
          globalSetup: ['test/support/provide-postgres.ts'],
          ...SHARED,
          ...PATIENCE,
          server: BUILT_FILES,
          setupFiles: [...COUNT_WHAT_RUNS, TIDY, 'test/support/check-every-response.ts'],
        },
      },
      {
        plugins: RUN_AS_BUILT,
        test: {
          name: 'long',
          include: LONG,
          exclude: LONG_ON_POSTGRES,
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
          globalSetup: ['test/browser/lib/report-missing-chromium.mjs'],
          ...SHARED,
          testTimeout: 300_000,
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
          exclude: LONG_ON_POSTGRES,
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
