// The data of an old version under this one. The old version is built from the repository's history.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAccount, createKey, millrace, placeIn, startServer, verifyLedger } from '../../program/program.mjs'
import { chatBody, send } from '../lib/client.mjs'
import { check, openFolder, ROOT, run, Skip } from '../lib/machine.mjs'

/** The last tree before PostgreSQL and the rewrite for readability. */
const OLD = '3926acb'
const EMAIL = 'owner@localhost'

export const upgradeParts = { upgrade }

async function upgrade() {
  const tree = await buildOldTree()
  const folder = openFolder('upgrade')
  const now = placeIn(folder)
  const before = { ...now, dist: join(tree, 'dist') }
  writeFileSync(now.config, JSON.stringify(CONFIG))
  const made = await useOldVersion(before)
  const spent = await millrace(before, 'wallet', 'show', EMAIL)

  const server = startServer(now)
  const target = { url: await server.ready, key: made.key }
  const kept = await getJson(target, `/v1/responses/${made.response.id}`)
  check(JSON.stringify(kept.output) === JSON.stringify(made.response.output), 'an old stored response is the same')
  const goesOn = { model: 'demo', input: 'And now?', previous_response_id: made.response.id }
  check((await send(target, '/v1/responses', { body: goesOn })).status === 200, 'a conversation goes on from it')
  const receipt = await getJson(target, `/v1/requests/${made.requestId}`)
  check(receipt.charge === made.receipt.charge, `an old receipt has its charge: ${JSON.stringify(receipt)}`)
  const answer = await send(target, '/v1/chat/completions', { body: chatBody() })
  check((await answer.text()).endsWith('data: [DONE]\n\n'), 'the old key streams an answer')
  const report = await verifyLedger(now)
  check(report.ok, `db verify finds nothing: ${JSON.stringify(report)}`)
  const left = await millrace(now, 'wallet', 'show', EMAIL)
  check(
    Number(left.balance) < Number(spent.balance) && Number(left.held) === 0,
    `only the new requests are charged: ${left.balance}`,
  )
  server.kill('SIGTERM')
  check((await server.ended).code === 0, 'the server ends with 0')

  const back = startServer(before)
  const refusal = await back.ready.then(
    () => undefined,
    (error) => error.message,
  )
  check(refusal !== undefined, 'the old version refuses the migrated data')
  return `data of ${OLD} starts, verifies and serves; stored response, receipt and key as before`
}

const CONFIG = {
  telemetry: { metrics: false },
  upstreams: [{ id: 'demo', wire: 'demo' }],
  models: [
    {
      ...{ id: 'demo', context_tokens: 128_000, max_output_tokens: 8192, price: { input: '0.10', output: '0.40' } },
      lanes: [{ upstream: 'demo', model: 'demo' }],
    },
  ],
}

/** Accounts, keys, charged requests and stored responses; at the end it is killed while a request runs. */
async function useOldVersion(place) {
  await createAccount(place, { email: EMAIL })
  const { key } = await createKey(place, { email: EMAIL })
  const server = startServer(place)
  const target = { url: await server.ready, key }
  const response = await getJson(target, '/v1/responses', { model: 'demo', input: 'Keep this.' })
  const chat = await send(target, '/v1/chat/completions', { body: chatBody({ stream: false }) })
  const requestId = chat.headers['x-request-id']
  await chat.text()
  const receipt = await getJson(target, `/v1/requests/${requestId}`)
  const running = await send(target, '/v1/chat/completions', { body: chatBody() })
  await running.reads('"content":"')
  running.text().catch(() => {})
  server.kill('SIGKILL')
  await server.ended
  return { key, response, requestId, receipt }
}

async function getJson(target, path, body) {
  const answer = await send(target, path, { body })
  const text = await answer.text()
  check(answer.status === 200, `${path} is served: ${text}`)
  return JSON.parse(text)
}

/** Kept in .cache, because a commit does not change. */
async function buildOldTree() {
  const tree = join(ROOT, '.cache', `tree-${OLD}`)
  if (existsSync(join(tree, 'dist', 'app', 'main.js'))) return tree
  const { code } = await run('git', ['cat-file', '-e', `${OLD}^{commit}`], { cwd: ROOT, mayFail: true })
  if (code !== 0) throw new Skip(`commit ${OLD} is not in the history of this repository`)
  rmSync(tree, { recursive: true, force: true })
  mkdirSync(tree, { recursive: true })
  await run('bash', ['-ec', `git archive ${OLD} | tar -x -C "${tree}"`], { cwd: ROOT })
  await run('npm', ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: tree })
  await run('npm', ['run', 'build'], { cwd: tree })
  return tree
}
