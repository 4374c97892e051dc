import { rm } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Bench, HEALTHY, makeHealthy, openBench } from '../fixtures/doctor/bench.ts'
import { createEmptyDatabase, type EmptyDatabase, postgres } from './postgres-ledger.ts'

const urlOf = ({ database }: EmptyDatabase) =>
  `postgres://${postgres!.user}@localhost/${database}?host=${postgres!.host}`

describe.skipIf(!postgres)('the doctor on PostgreSQL', () => {
  let healthy: string
  let bench: Bench
  let database: EmptyDatabase

  beforeAll(async () => {
    healthy = await makeHealthy()
  })
  afterAll(() => rm(healthy, { recursive: true }))
  beforeEach(async () => {
    bench = await openBench(healthy, { withLedger: false })
    database = await createEmptyDatabase()
  })
  afterEach(async () => {
    await bench.close()
    await database.drop()
  })

  const storage = (url: string, more = 'may_lose_commits: true') =>
    bench.writeConfig(`${HEALTHY}storage: { database: "${url}", ${more} }\n`)
  const found = async () => (await bench.examine()).findings.map(({ fault, message }) => `${fault}: ${message}`)

  it('finds nothing where it can serve', async () => {
    await storage(urlOf(database))
    expect(await found()).toEqual([])
  })

  it('finds one that does not answer, and does not show the password', async () => {
    await storage('postgres://me:a-long-password@127.0.0.1:1/none')
    const [finding, ...more] = await found()
    expect(finding).toMatch(/^postgres-unreachable: PostgreSQL cannot be reached \(ECONNREFUSED\)/)
    expect([more, JSON.stringify(await bench.examine()).includes('a-long-password')]).toEqual([[], false])
  })

  it('finds one that may lose charges', async () => {
    await storage(urlOf(database), 'may_lose_commits: false')
    expect(await found()).toEqual([expect.stringMatching(/^postgres-unsuitable: (fsync|synchronous_commit) is off/)])
  })

  it('finds one with too few connections for the workers', async () => {
    await bench.writeConfig(
      `${HEALTHY.replace('port: 0,', 'port: 0, workers: 200,')}storage: { database: "${urlOf(database)}", may_lose_commits: true }\n`,
    )
    expect(await found()).toEqual([expect.stringMatching(/^postgres-too-few-connections: .* uses up to 4200\./)])
  })
})
