import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { prepareScene } from '../../chaos/lib/prepare-scene.mjs'
import { startProvider } from '../../chaos/lib/provider.mjs'
import { copyDist } from '../../program/copies.mjs'
import { findPostgresPrograms, startPostgres } from '../../program/postgres.mjs'
import { placeIn } from '../../program/program.mjs'
import { createRandom } from '../../program/random.mjs'
import { createTally } from '../../program/tally.mjs'
import { createCluster, ENVIRONMENT, sectionsOf } from './cluster.mjs'

/**
 * PostgreSQL with fsync, a provider, accounts, and nodes that serve. `more` are sections of their configuration. Undefined,
 * and said so, where there is no PostgreSQL.
 */
export async function openStage(options, more = {}, prepare = prepareScene) {
  const programs = findPostgresPrograms()
  if (programs === undefined) {
    console.log(
      'No PostgreSQL here (initdb, postgres; Debian: apt-get install postgresql): the cluster run is skipped.',
    )
    console.log('0 passed, 0 failed')
    return undefined
  }
  console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
  const tally = createTally()
  const random = createRandom(options.seed)
  const postgres = await startPostgres(programs, { fsync: true })
  process.on('exit', () => rmSync(postgres.host, { recursive: true, force: true }))
  const { dist } = copyDist(options.dist)
  const database = 'cluster'
  const admin = new pg.Pool({ host: postgres.host, user: postgres.user, database: 'postgres', max: 1 })
  admin.on('error', () => {})
  await admin.query(`CREATE DATABASE ${database}`)
  const template = mkdtempSync(join(tmpdir(), 'millrace-cluster-scene-'))
  process.on('exit', () => rmSync(template, { recursive: true, force: true }))
  const providerPort = await startProvider()
  const sections = { ...sectionsOf(postgres.host, database), ...more }
  const accounts = await prepare(dist, template, providerPort, { more: sections, environment: ENVIRONMENT })
  const cluster = await createCluster({
    ...{ dist, random, providerPort, postgres, database, more },
    size: options.nodes,
  })
  await Promise.all(cluster.nodes.map((node) => node.start()))
  return {
    ...{ tally, random, postgres, dist, admin, accounts, cluster },
    /** Its address for commands. */
    database: sections.storage.database,
    /** Where an operator works. */
    place: placeIn(template, { dist, environment: ENVIRONMENT }),
    async close() {
      await admin.end()
      cluster.clear()
      await postgres.stop()
    },
  }
}
