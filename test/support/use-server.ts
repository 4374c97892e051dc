import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type StartOptions, startServer, type TestServer } from './start-server.ts'
import { until } from './until.ts'

/**
 * One server for the tests of a file. After each of them the books are closed as an auditor would: no turn is left, no
 * money is held, and the rows add up.
 */
export function useServer(options: StartOptions = {}): () => TestServer {
  let server: TestServer | undefined
  const current = () => {
    if (!server) throw new Error('the server has not been started yet')
    return server
  }
  beforeAll(async () => {
    server = await startServer(options)
  })
  afterEach(() => expectCleanBooks(current()))
  afterAll(() => server?.close())
  return current
}

export async function expectCleanBooks({ serving, house, operate }: TestServer): Promise<void> {
  await until(() => serving.turnsRunning === 0)
  const report = await operate('db.verify', {})
  expect(report.checks.filter((check) => check.violations > 0)).toEqual([])
  expect(report.ok).toBe(true)
  const held = await house.operations.db.selectFrom('buckets').select('row').where('held_nano', '!=', 0n).execute()
  expect(held, 'buckets on which money is still held').toEqual([])
}
