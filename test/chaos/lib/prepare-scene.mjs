import { mkdirSync, writeFileSync } from 'node:fs'
import { createAccount, createKey, placeIn } from '../../program/program.mjs'
import { ACCOUNTS, configText } from './scene.mjs'

/** The API key of an account that sends nothing without an Idempotency-Key. */
export const KEYED_NAME = 'chaos keyed'

/** A folder with a configuration, the accounts, their money and their keys; every scenario begins with a copy of it. */
export async function prepareScene(dist, folder, providerPort, { more, environment } = {}) {
  const place = placeIn(folder, { dist, environment })
  mkdirSync(folder, { recursive: true })
  writeFileSync(place.config, configText({ metricsPort: 0, providerPort, more }))
  const accounts = []
  for (const account of ACCOUNTS) accounts.push(await prepareAccount(place, account))
  return accounts
}

async function prepareAccount(place, { email, credit, kind, keys, share, cap, plan }) {
  await createAccount(place, { email, credit, plan })
  const more = cap ? ['--cap-day', cap.day, '--cap-month', cap.month] : []
  const made = []
  for (let index = 0; index < keys; index++) {
    made.push(await createKey(place, { email, kind, name: `chaos ${index}`, more }))
  }
  const keyed = await createKey(place, { email, kind, name: KEYED_NAME, more })
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
