import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { millrace, verifyBooks } from '../chaos/lib/cli.mjs'
import { copyDist } from '../chaos/lib/dist-copy.mjs'
import { createRandom } from '../chaos/lib/random.mjs'
import { findFreePort, startServer } from '../chaos/lib/server-process.mjs'

const OWNER = 'owner@localhost'

/** The real server on a fresh data folder, with an account, money and a key. `config` says upstreams and models. */
export async function serveGateway({ dist, config }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-acceptance-'))
  let keep = false
  process.on('exit', () => keep || rmSync(folder, { recursive: true, force: true }))
  const place = { dist: copyDist(dist), config: join(folder, 'millrace.yaml'), data: join(folder, 'data') }
  const telemetry = { metrics: false, log: { level: 'warn', format: 'json' } }
  // YAML is a superset of JSON.
  writeFileSync(place.config, JSON.stringify({ ...config, telemetry }, null, 2))
  await millrace(place, 'accounts', 'create', '--email', OWNER)
  await millrace(place, 'wallet', 'credit', OWNER, '1000.00', '--reason', 'acceptance', '--ref', 'first')
  const named = ['--account', OWNER, '--kind', 'wallet', '--name', 'acceptance']
  const { key } = await millrace(place, 'keys', 'create', ...named)
  const port = await findFreePort(createRandom(process.pid))
  const logPath = join(folder, 'server.log')
  const server = await startServer({ ...place, port, logPath })
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    key,
    place,
    /** Stops it as an operator does, and checks what it leaves behind. The folder is kept when something is wrong. */
    async stop(tally) {
      server.kill('SIGTERM')
      const exit = await server.exited
      const errors = readFileSync(logPath, 'utf8').split('\n').filter(isError)
      const { ok } = await verifyBooks(place)
      tally.check(exit === 0, `the server ends by itself when it is asked to (${exit})`)
      tally.check(errors.length === 0, `the server logged ${errors.length} errors`)
      tally.check(ok, 'db verify finds nothing')
      keep = exit !== 0 || errors.length > 0 || !ok
      if (keep) console.log(`The data folder and the log of the server are in ${folder}`)
    },
  }
}

const isError = (line) => /"level":"?(error|fatal|50|60)/.test(line)
