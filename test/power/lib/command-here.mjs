import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A command of the built program to its end, in this process: most cuts need no process of their own. */
export async function runCommandHere({ dist, config, data }, words) {
  const { runMain } = await import(pathToFileURL(join(dist, 'app/run-main.js')).href)
  const said = { out: '', err: '' }
  const terminal = {
    out: (text) => {
      said.out += text
    },
    err: (text) => {
      said.err += text
    },
    ...{ colours: { out: false, err: false }, interactive: false, attended: false },
    ask: async () => undefined,
  }
  const ground = { terminal, environment: {}, cwd: join(data, '..'), faults: {}, endServer: () => {} }
  const code = await runMain(ground, [...words, '--config', config, '--data', data])
  return { code, ...said }
}
