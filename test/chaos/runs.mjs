// One budget for an agent and its children, under kill -9, at one server or at several nodes: is it ever exceeded, does every refused child end
// at once, and does the tree of the run add up? Among the children are processes of the real Codex.
//
//   node test/chaos/runs.mjs [--nodes 3] [--children 100] [--codex 4] [--kills 6] [--rounds 3] [--seed N]
import { setTimeout as sleep } from 'node:timers/promises'
import { installCodex, openCodex } from '../clients/lib/codex-cli.mjs'
import { openCountingProxy } from '../clients/lib/counting-proxy.mjs'
import { ENDLESS } from '../clients/lib/scripted-model.mjs'
import { startScriptedProvider } from '../clients/lib/scripted-provider.mjs'
import { readOptions } from '../program/options.mjs'
import { createAccount, createKey, millrace, verifyLedger } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { createTally } from '../program/tally.mjs'
import { openNodes } from './lib/nodes.mjs'

const options = readOptions({ nodes: 3, children: 100, codex: 4, kills: 6, rounds: 3 })
const EMAIL = 'runs@localhost'
const BUDGET = '0.50'
/** A child that asks more often than this has not understood its refusal: that is a storm. */
const REQUESTS_MAX = 400
/** Children of some children, with budgets of their own. */
const INNER = { every: 4, max: '0.02' }
const KEYS = 5
/** What Codex sends for a turn that is always refused, the first refusal included: docs/clients/codex.md. */
const CODEX_REFUSALS_MAX = 6
/** The input of each of its requests, as the provider counts it. */
const CODEX_TOKENS = 3000
const CODEX_MS_MAX = 120_000

console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const random = createRandom(options.seed)
const tally = createTally()
const codexBinary = options.codex > 0 ? await installCodex('') : undefined
if (options.codex > 0 && codexBinary === undefined) console.log('No Codex: the scripted children are alone.')
const provider = await startScriptedProvider()
const opened = await openNodes({
  ...{ size: options.nodes, random, dist: options.dist, tally },
  sections: {
    upstreams: [
      { id: 'demo', wire: 'demo' },
      {
        ...{ id: 'scripted', wire: 'chat', dialect: 'openai', base_url: `${provider.url}/v1` },
        ...{ api_key: 'scripted-key', allow_private: true },
      },
    ],
    models: [
      {
        ...{ id: 'child', context_tokens: 4000, max_output_tokens: 400 },
        price: { input: '11.000003', output: '47.310001' },
        lanes: [{ upstream: 'demo', model: 'demo' }],
      },
      {
        ...{ id: 'agent', context_tokens: 200_000, max_output_tokens: 400 },
        price: { input: '0.100003', output: '0.531001' },
        lanes: [{ upstream: 'scripted', model: 'agent' }],
      },
    ],
    hold: { uncapped_tokens_min: 20 },
    overload: { loop_delay: 'off' },
  },
})
if (opened === undefined) process.exit()
const { nodes } = opened
await createAccount(nodes[0].place, { email: EMAIL, credit: '100.00' })
const keys = []
for (let number = 0; number < KEYS; number++) {
  keys.push((await createKey(nodes[0].place, { email: EMAIL, name: `agent ${number}` })).key)
}
const { secret: adminKey } = await millrace(
  nodes[0].place,
  'admin-keys',
  'create',
  '--name',
  'runs',
  '--scopes',
  'admin',
)
for (const node of nodes) await node.start()

const earlier = new Set()
let spent = 0n
for (let round = 0; round < options.rounds; round++) spent += await playRun(`fix-${round}`)

for (const node of nodes) await node.stop()
const report = await verifyLedger(nodes[0].place)
tally.check(report.ok, 'db verify finds nothing')
const { balance } = await millrace(nodes[0].place, 'wallet', 'show', EMAIL)
tally.check(nano('100') - nano(balance) === spent, `the wallet has paid what the runs have used (${spent})`)
await opened.stop()
provider.close()
tally.close()
process.exit()

/** The agent begins the run; its children ask until they are told that its budget is used up. */
async function playRun(id) {
  const totals = { answered: 0, refused: 0, cut: 0, waited: 0 }
  const first = await ask(keys[0], `${id}; max=${BUDGET}`, 5)
  tally.check(first.status === 200, `${id}: the agent begins its run (${first.status})`)
  const state = { over: false }
  const codexes = await startCodexes(id)
  const killing = killSome(state)
  await Promise.all(
    Array.from({ length: options.children }, (_, child) => runChild(id, { child, totals, random: random.fork(child) })),
  )
  state.over = true
  await killing
  for (const codex of codexes) await checkCodex(id, await codex)
  console.log(`  ${id}: ${JSON.stringify(totals)}`)
  tally.check(
    totals.refused === options.children,
    `${id}: every child was told that the budget is used up (${totals.refused})`,
  )
  const run = await untilAtRest(id)
  const [used, budget] = [nano(run.used.cost), nano(BUDGET)]
  tally.check(used <= budget, `${id}: never more than its budget (${run.used.cost} of ${BUDGET})`)
  tally.check(used > (budget * 9n) / 10n, `${id}: the budget was used up`)
  for (const inner of run.runs) {
    if (nano(inner.used.cost) > nano(INNER.max)) tally.check(false, `${inner.id} has used ${inner.used.cost}`)
  }
  const own = (await receiptsOfRun()).filter(({ state }) => state === 'settled')
  const sum = own.reduce((total, { charge }) => total + nano(charge), 0n)
  tally.check(sum === used, `${id}: its receipts add up to what the tree says (${sum} of ${used})`)
  tally.check(run.used.requests === own.length, `${id}: and so do its requests (${run.used.requests} of ${own.length})`)
  for (const receipt of await receiptsOfRun()) earlier.add(receipt.id)
  return used
}

/** Starts the real Codex several times in the run, and waits until each has sent a turn. */
async function startCodexes(id) {
  if (codexBinary === undefined) return []
  const started = await Promise.all(
    Array.from({ length: options.codex }, async (_, number) => {
      const proxy = await openCountingProxy(() => {
        const serving = nodes.filter(({ isServing }) => isServing)
        return serving.length === 0 ? undefined : `http://127.0.0.1:${random.pick(serving).port}`
      })
      const codex = openCodex({
        ...{ binary: codexBinary, baseUrl: proxy.url, key: keys[number % keys.length], model: 'agent' },
        provider: [`http_headers = { "x-millrace-run" = "${id}" }`],
      })
      const ended = runCodex(codex, proxy)
      while (proxy.turns.length === 0) await sleep(20)
      return { ended }
    }),
  )
  return started.map(({ ended }) => ended)
}

/** Codex gives up when others hold the budget for long: then it is started again, as a person would, until the budget is used up. */
async function runCodex(codex, proxy) {
  for (let processes = 1; ; processes++) {
    const { code, failed, late } = await codex.sendTurn(ENDLESS(CODEX_TOKENS), CODEX_MS_MAX)
    const { turns } = proxy
    if (!late && turns.at(-1).code !== 'run_budget_exceeded' && turns.length < REQUESTS_MAX) continue
    codex.close()
    proxy.close()
    return { code, failed, late, turns, processes }
  }
}

async function checkCodex(id, { code, failed, late, turns, processes }) {
  const count = (status) => turns.filter((turn) => turn.status === status).length
  const first = turns.findIndex((turn) => turn.code === 'run_budget_exceeded')
  const [refusals, last] = [turns.length - first, turns.at(-1)]
  const statuses = [200, 402, 429, 503, undefined].map((status) => `${status ?? 'cut'}: ${count(status)}`).join(', ')
  console.log(`  ${id}: Codex sent ${turns.length} turns from ${processes} processes (${statuses})`)
  tally.check(count(200) > 0, `${id}: Codex has worked in the run (${count(200)} answers)`)
  tally.check(
    first >= 0 && last.code === 'run_budget_exceeded' && /run/.test(failed),
    `${id}: Codex was told that the budget is used up: ${failed}`,
  )
  tally.check(
    !late && code === 1 && refusals <= CODEX_REFUSALS_MAX,
    `${id}: Codex ended by itself after ${refusals} refusals`,
  )
}

async function runChild(id, { child, totals, random: own }) {
  const name = child % INNER.every === 0 ? `${id}.${child}; parent=${id}; max=${INNER.max}` : id
  const key = keys[child % keys.length]
  for (let requests = 0; requests < REQUESTS_MAX; requests++) {
    const answer = await ask(key, name, 1 + own.below(60))
    if (answer.status === undefined || answer.status >= 500) {
      totals.cut += 1
      await sleep(20 + own.below(100))
    } else if (answer.status === 402) {
      const { code } = answer.error
      if (code !== 'run_budget_exceeded' || answer.shouldRetry !== 'false')
        throw new Error(JSON.stringify(answer.error))
      // A child whose own budget is used up has no other.
      totals.refused += 1
      return
    } else if (answer.status === 429) {
      totals.waited += 1
      // As told, so that Codex, which waits as told, has its turn beside them.
      await sleep(Number(answer.retryAfter) * 1000 + own.below(150))
    } else if (answer.status === 200) totals.answered += 1
    else throw new Error(`${answer.status} ${JSON.stringify(answer.error)}`)
  }
}

/** One request as a stream, at any node that serves; `status` is undefined where its connection broke. */
async function ask(key, run, words) {
  const serving = nodes.filter(({ isServing }) => isServing)
  if (serving.length === 0) return { status: undefined }
  const { port } = random.pick(serving)
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-millrace-run': run },
      body: JSON.stringify({
        ...{ model: 'child', stream: true, max_tokens: words },
        messages: [{ role: 'user', content: `count to ${words}` }],
      }),
    })
    const text = await response.text()
    if (response.status === 200) return { status: text.endsWith('data: [DONE]\n\n') ? 200 : undefined }
    const { error } = JSON.parse(text)
    const [shouldRetry, retryAfter] = ['x-should-retry', 'retry-after'].map((name) => response.headers.get(name))
    return { status: response.status, error, shouldRetry, retryAfter }
  } catch {
    return { status: undefined }
  }
}

async function killSome(state) {
  for (let kill = 0; kill < options.kills / options.rounds; kill++) {
    await sleep(300 + random.below(900))
    if (state.over) return
    const node = random.pick(nodes.filter(({ isServing }) => isServing))
    await node.kill()
    await sleep(random.below(300))
    await node.start()
  }
}

/** What its dead nodes held is resolved. */
async function untilAtRest(id) {
  for (let tries = 0; tries < 300; tries++) {
    const run = await look(`runs/${id}`)
    const open = (await receiptsOfRun()).some(({ state }) => state === 'open')
    if (!open) return run
    await sleep(200)
  }
  throw new Error(`the run ${id} does not come to rest`)
}

/** Those of the run that is played: nothing else asks. */
async function receiptsOfRun() {
  const response = await fetch(`http://127.0.0.1:${nodes[0].port}/admin/v1/accounts/${EMAIL}/requests.jsonl`, {
    headers: { authorization: `Bearer ${adminKey}` },
  })
  const receipts = (await response.text()).trim().split('\n').map(JSON.parse)
  return receipts.filter(({ id }) => !earlier.has(id))
}

async function look(path) {
  const response = await fetch(`http://127.0.0.1:${nodes[0].port}/v1/${path}`, {
    headers: { authorization: `Bearer ${keys[0]}` },
  })
  return response.json()
}

function nano(text) {
  const [whole, part = ''] = String(text).split('.')
  return BigInt(whole + part.padEnd(9, '0'))
}
