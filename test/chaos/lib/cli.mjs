import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ACCOUNTS, configText } from './scene.mjs'

const run = promisify(execFile)
/** The API key of an account that sends nothing without an Idempotency-Key. */
export const KEYED_NAME = 'chaos keyed'

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
export async function prepareScene(dist, folder, providerPort) {
  const place = { dist, config: join(folder, 'millrace.yaml'), data: join(folder, 'data') }
  mkdirSync(folder, { recursive: true })
  writeFileSync(place.config, configText({ metricsPort: 0, providerPort }))
  const accounts = []
  for (const account of ACCOUNTS) accounts.push(await prepareAccount(place, account))
  return accounts
}

async function prepareAccount(place, { email, credit, kind, keys, share, cap, plan }) {
  await millrace(place, 'accounts', 'create', '--email', email)
  await millrace(place, 'wallet', 'credit', email, credit, '--reason', 'chaos', '--ref', 'first')
  if (plan) await millrace(place, 'plans', 'assign', email, plan)
  const caps = cap ? ['--cap-day', cap.day, '--cap-month', cap.month] : []
  const createKey = (name) =>
    millrace(place, 'keys', 'create', '--account', email, '--kind', kind, '--name', name, ...caps)
  const made = []
  for (let index = 0; index < keys; index++) made.push(await createKey(`chaos ${index}`))
  const keyed = await createKey(KEYED_NAME)
  return {
    email,
    credit,
    kind,
    share,
    keys: made.map(({ key }) => key),
    keyedKey: keyed.key,
    keyIds: made.map(({ id }) => id),
  }
}
