import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A command of the built program to its end, in this process: most cuts need no process of their own. */
export async function runCommandHere({ dist, config, data }, words) {
  const { runMain } = await import(pathToFileURL(join(dist, 'app/run-main.js')).href)
  const emitted = { out: '', err: '' }
  const terminal = {
    out: (text) => {
      emitted.out += text
    },
    err: (text) => {
      emitted.err += text
    },
    ...{ colours: { out: false, err: false }, interactive: false, attended: false },
    sendTurn: async () => undefined,
  }
  const stageContext = { terminal, environment: {}, cwd: join(data, '..'), faults: {}, endServer: () => {} }
  const code = await runMain(stageContext, [...words, '--config', config, '--data', data])
  return { code, ...emitted }
}
