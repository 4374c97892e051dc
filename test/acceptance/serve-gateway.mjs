import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyDist } from '../program/copies.mjs'
import { createAccount, createKey, placeIn, startServer, verifyLedger } from '../program/program.mjs'

const OWNER = 'owner@localhost'

/** The real server on a fresh data folder, with an account, money and a key. `config` says upstreams and models. */
export async function serveGateway({ dist, config }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-acceptance-'))
  let keep = false
  process.on('exit', () => keep || rmSync(folder, { recursive: true, force: true }))
  const place = placeIn(folder, copyDist(dist))
  const telemetry = { metrics: false, log: { level: 'warn', format: 'json' } }
  // YAML is a superset of JSON.
  writeFileSync(place.config, JSON.stringify({ ...config, telemetry }, null, 2))
  await createAccount(place, { email: OWNER })
  const { key } = await createKey(place, { email: OWNER })
  const logPath = join(folder, 'server.log')
  const server = startServer(place, { logPath })
  return {
    baseUrl: `${await server.ready}/v1`,
    key,
    place,
    /** Stops it as an operator does, and checks what it leaves behind. The folder is kept when something is wrong. */
    async stop(tally) {
      server.kill('SIGTERM')
      const { code: exit } = await server.ended
      const errors = readFileSync(logPath, 'utf8').split('\n').filter(isError)
      const { ok } = await verifyLedger(place)
      tally.check(exit === 0, `the server ends by itself when it is asked to (${exit})`)
      tally.check(errors.length === 0, `the server logged ${errors.length} errors`)
      tally.check(ok, 'db verify finds nothing')
      keep = exit !== 0 || errors.length > 0 || !ok
      if (keep) console.log(`The data folder and the log of the server are in ${folder}`)
    },
  }
}

const isError = (line) => /"level":"?(error|fatal|50|60)/.test(line)
