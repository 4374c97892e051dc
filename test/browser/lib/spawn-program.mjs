import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { millrace, placeIn, startServer } from '../../program/program.mjs'
import { withoutStrain } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'

/** Starts the program in its own process with an empty data folder. */
export async function spawnProgram(config) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-browser-'))
  const place = placeIn(folder, { environment: { MILLRACE_SERVER__METRICS_PORT: '0' } })
  await writeFile(place.config, withoutStrain(config))
  const server = startServer(place)
  return {
    origin: await server.ready,
    data: place.data,
    output: server.output,
    setupLink: () => until(() => readFile(join(place.data, 'console-setup'), 'utf8').then(trimmed, notYet)),
    /** Runs an operator command with `--json` through the running server. */
    operate: (...args) => millrace(place, ...args),
    async close() {
      server.kill('SIGTERM')
      await server.ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const trimmed = (text) => text.trim() || undefined
const notYet = () => undefined
