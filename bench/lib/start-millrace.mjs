import { execFileSync, spawn } from 'node:child_process'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../dist/app/main.js', import.meta.url))

/** As `npm start` and docs/operate/running.md start it. */
const SERVE = ['--max-semi-space-size=64', PROGRAM, 'serve']

/** Starts the real program on a free port with a data folder of its own, one account with money, and one wallet key. */
export async function startMillrace(folder, configText) {
  const config = join(folder, 'millrace.yaml')
  const data = join(folder, 'data')
  writeFileSync(config, configText)
  const cli = (...args) =>
    execFileSync(process.execPath, [PROGRAM, '--config', config, '--data', data, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  cli('accounts', 'create', '--email', 'bench@localhost')
  cli('wallet', 'credit', 'bench@localhost', '1000000', '--reason', 'bench', '--ref', 'bench')
  const key = cli('keys', 'create', '--account', 'bench@localhost', '--kind', 'wallet', '--name', 'bench')
  const log = openSync(join(folder, 'log'), 'w')
  const child = spawn(process.execPath, [...SERVE, '--config', config, '--data', data, '--port', '0'], {
    stdio: ['ignore', log, log],
  })
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const status = JSON.parse(cli('status', '--json'))
    if (!status.running || !status.url) continue
    const port = Number(new URL(status.url).port)
    return { child, pid: child.pid, port, headers: { authorization: `Bearer ${key}` } }
  }
}
