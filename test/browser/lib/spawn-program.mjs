import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withoutStrain } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'

/** As it is shipped: `npm test` builds it first. */
const PROGRAM = fileURLToPath(new URL('../../../dist/app/main.js', import.meta.url))

/** The whole program in a process of its own on an empty folder, as somebody finds it who has just installed it. */
export async function spawnProgram(config) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-browser-'))
  const data = join(folder, 'data')
  const configPath = join(folder, 'millrace.yaml')
  await writeFile(configPath, withoutStrain(config))
  const start = (...args) =>
    listenTo(
      spawn(process.execPath, [PROGRAM, ...args, '--config', configPath, '--data', data], {
        cwd: folder,
        env: { HOME: folder, PATH: process.env.PATH, MILLRACE_SERVER__METRICS_PORT: '0' },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    )
  const serving = start('serve', '--port', '0', '--log-format', 'json')
  const endSooner = serving.ended.then((code) => {
    throw new Error(`the server ended with ${code} before it was ready: ${serving.said()}`)
  })
  endSooner.catch(() => {})
  await Promise.race([until(() => serving.said().includes('"ready"')), endSooner])
  const { url } = JSON.parse(await readFile(join(data, 'server.json'), 'utf8'))
  return {
    origin: new URL(url).origin,
    data,
    said: serving.said,
    setupLink: async () => (await readFile(join(data, 'console-setup'), 'utf8')).trim(),
    /** What a command of the operator prints with `--json`; it goes through the server that runs. */
    async operate(...args) {
      const command = start(...args, '--json')
      const code = await command.ended
      if (code !== 0) throw new Error(`millrace ${args.join(' ')} ended with ${code}: ${command.said()}`)
      return JSON.parse(command.out())
    },
    async close() {
      serving.child.kill('SIGTERM')
      await serving.ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function listenTo(child) {
  const heard = { out: '', err: '' }
  for (const [way, stream] of [
    ['out', child.stdout],
    ['err', child.stderr],
  ]) {
    stream.setEncoding('utf8').on('data', (text) => {
      heard[way] += text
    })
  }
  const ended = once(child, 'close').then(([code]) => code)
  return { child, ended, out: () => heard.out, said: () => heard.out + heard.err }
}
