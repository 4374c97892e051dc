import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ACCOUNTS, configText } from './scene.mjs'

const run = promisify(execFile)

/** One command of the operator, as the operator would give it. */
export async function millrace({ dist, config, data }, ...words) {
  const main = join(dist, 'app', 'main.js')
  const { stdout } = await run(process.execPath, [main, '--config', config, '--data', data, '--json', ...words])
  return JSON.parse(stdout)
}

/** The report of `db verify`, which ends with exit code 1 when the books do not hold. */
export async function verifyBooks(place) {
  try {
    return await millrace(place, 'db', 'verify')
  } catch (error) {
    if (!error.stdout) throw error
    return JSON.parse(error.stdout)
  }
}

/** A folder with a configuration, the accounts, their money and their keys; every scenario begins with a copy of it. */
export async function prepareScene(dist, folder) {
  const place = { dist, config: join(folder, 'millrace.yaml'), data: join(folder, 'data') }
  mkdirSync(folder, { recursive: true })
  writeFileSync(place.config, configText({ metricsPort: 0 }))
  const accounts = []
  for (const { email, credit, keys, share } of ACCOUNTS) {
    await millrace(place, 'accounts', 'create', '--email', email)
    await millrace(place, 'wallet', 'credit', email, credit, '--reason', 'chaos', '--ref', 'first')
    const secrets = []
    for (let index = 0; index < keys; index++) {
      const name = `chaos ${index}`
      const made = await millrace(place, 'keys', 'create', '--account', email, '--kind', 'wallet', '--name', name)
      secrets.push(made.key)
    }
    accounts.push({ email, credit, keys: secrets, share })
  }
  return accounts
}
