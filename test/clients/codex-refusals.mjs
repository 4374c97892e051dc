// How often Codex asks when it is refused, and what its user reads: measures the table of ../../docs/clients/codex.md.
// Takes six minutes, nearly all of it Codex's own waiting.
//
//   node test/clients/codex-refusals.mjs [--installed FOLDER] [--only REGEX] [--dist FOLDER]
import { createServer } from 'node:http'
import { endAll } from '../acceptance/own-processes.mjs'
import { serveGateway } from '../acceptance/serve-gateway.mjs'
import { readOptions } from '../program/options.mjs'
import { createBareAccount, millrace } from '../program/program.mjs'
import { createTally } from '../program/tally.mjs'
import { installCodex, openCodex } from './lib/codex-cli.mjs'
import { openCountingProxy } from './lib/counting-proxy.mjs'
import { startFailingProvider, WAYS } from './lib/failing-provider.mjs'

/** Above what any turn here takes; thirty requests of two seconds are the longest. */
const CODEX_MS_MAX = 120_000

const UNAVAILABLE = { status: 503, type: 'service_unavailable_error' }

/** `model`: how its provider fails; `answer`: what Codex gets without a gateway; `person`: who asks; `before`: what they have done;
 * `requests`, `exit`: what was measured; `endless`: it still waits as told when the time is over, and has sent fewer. */
const CASES = [
  { says: '503 upstream_timeout', model: 'silent', requests: 30, endless: true },
  { says: '503 server_is_overloaded, provider 500', model: 'fails-500', requests: 5 },
  { says: '503 provider_misconfigured, provider 401', model: 'fails-401', requests: 30 },
  { says: '429 upstream_busy', model: 'fails-429', requests: 6 },
  { says: '400 upstream_rejected', model: 'fails-400', requests: 1 },
  { says: '400 context_length_exceeded', model: 'fails-long', requests: 1 },
  { says: 'after the head: upstream_timeout', model: 'silent-late', requests: 6 },
  { says: 'after the head: server_is_overloaded, cut', model: 'fails-late', requests: 1 },
  { says: 'after the head: server_is_overloaded, provider 500', model: 'fails-late-500', requests: 1 },
  { says: 'after the first word: cut', model: 'cut-in-words', requests: 6 },
  { says: 'after the first word: error', model: 'error-in-words', requests: 6 },
  { says: 'after the first word: content_filter', model: 'filter-in-words', requests: 1 },
  { says: 'response.incomplete', model: 'short', requests: 1 },
  {
    says: '429 rate_limit_exceeded',
    person: { credit: '100', limits: ['--requests-per-minute', '6'] },
    before: (sendTurn) => sendTimes(6, sendTurn, 'well'),
    requests: 2,
    exit: 0,
  },
  { says: '429 balance_in_flight', person: { credit: '0.17' }, before: (sendTurn) => sendTurn('slow'), requests: 6 },
  { says: '402 insufficient_balance', person: {}, requests: 6 },
  { says: '402 key_spend_cap_reached', person: { credit: '10', limits: ['--cap-day', '0.01'] }, requests: 6 },
  { says: '402 subscription_inactive', person: { kind: 'builder' }, requests: 6 },
  { says: '402 request_exceeds_allowance', person: { kind: 'builder', plan: 'tiny' }, requests: 6 },
  {
    says: '429 allowance_exhausted',
    model: 'dear',
    person: { kind: 'builder', plan: 'lean' },
    before: (sendTurn) => sendTimes(30, sendTurn, 'dear'),
    requests: 1,
  },
  { says: '403 account_suspended', person: { credit: '10', suspended: true }, requests: 6 },
  { says: '404 model_not_found', model: 'nobody', requests: 1 },
  { says: '401 invalid_api_key', person: { key: 'mr_wallet_nobody' }, requests: 6 },
  // No provider makes the gateway answer these, so a server of this script does, with the gateway's status, envelope and header.
  { says: '500 internal_error', answer: { status: 500, type: 'server_error' }, requests: 30 },
  { says: '503 server_draining', answer: { ...UNAVAILABLE, retryAfter: '1' }, requests: 30 },
  { says: '503 ledger_unavailable', answer: { ...UNAVAILABLE, retryAfter: '2' }, requests: 30 },
]

const options = readOptions({ installed: '', only: '' })
const tally = createTally()
let people = 0
const binary = await installCodex(options.installed)
if (binary) await measureAll()
endAll()
tally.close()

async function measureAll() {
  const provider = await startFailingProvider()
  const gateway = await serveGateway({ dist: options.dist, config: configFor(provider.url) })
  const answering = await startAnswering()
  let target = gateway.baseUrl
  const proxy = await openCountingProxy(() => target)
  const refuseAll = (says, answer) => {
    answering.answer = { ...answer, code: says.split(' ')[1] }
    target = answer === undefined ? gateway.baseUrl : answering.url
  }
  for (const row of CASES.filter(({ says }) => new RegExp(options.only).test(says)))
    await measure(row, { gateway, proxy, refuseAll })
  proxy.close()
  answering.close()
  provider.close()
  await gateway.stop(tally)
}

async function measure(
  { says, model = 'well', answer, person, before, requests, exit = 1, endless = false },
  { gateway, proxy, refuseAll },
) {
  refuseAll(says, answer)
  const key = person ? (person.key ?? (await keyOf(person, gateway.place))) : gateway.key
  const running = await before?.((id) => sendPlainly(gateway, key, id))
  const codex = openCodex({ binary, baseUrl: proxy.url, key, model })
  const earlier = proxy.turns.length
  const { ms, code, failed, emitted } = await codex.sendTurn('Say something.', CODEX_MS_MAX)
  const turns = proxy.turns.slice(earlier)
  const statuses = [...new Set(turns.map(({ status }) => status))]
  const reported = `${turns.length} requests (${statuses}), ${(ms / 1000).toFixed(1)} s, exit code ${code}: ${failed ?? emitted}`
  const isAsMeasured = endless ? turns.length < requests && code === -1 : turns.length === requests && code === exit
  tally.check(isAsMeasured, `${says}: ${reported}`)
  await running?.body.cancel()
  codex.close()
}

/** Gives every request the same refusal. */
async function startAnswering() {
  const server = createServer((request, response) => {
    const { status, type, code, retryAfter } = answering.answer
    request.resume().on('end', () => {
      const retry = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
      response.writeHead(status, { 'content-type': 'application/json', ...retry })
      response.end(
        JSON.stringify({ error: { message: 'It is a server error.', type, code, param: null, source: 'gateway' } }),
      )
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const answering = {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    answer: undefined,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
  return answering
}

async function keyOf({ credit, kind = 'wallet', plan, limits = [], suspended = false }, place) {
  const email = `person-${++people}@localhost`
  await createBareAccount(place, email)
  if (credit) await millrace(place, 'wallet', 'credit', email, credit, '--reason', 'measuring', '--ref', 'first')
  if (plan) await millrace(place, 'plans', 'assign', email, plan)
  const { key } = await millrace(
    place,
    'keys',
    'create',
    '--account',
    email,
    '--kind',
    kind,
    '--name',
    'codex',
    ...limits,
  )
  if (suspended) await millrace(place, 'accounts', 'suspend', email)
  return key
}

function sendPlainly(gateway, key, model) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model, input: 'Say something.', stream: true })
  return fetch(`${gateway.baseUrl}/responses`, { method: 'POST', headers, body })
}

async function sendTimes(count, sendTurn, model) {
  for (let index = 0; index < count; index++) await (await sendTurn(model)).text()
}

/** Heads go out after two seconds here, so that a provider can be slower than that and a test need not be slow. */
function configFor(url) {
  const upstream = (id, timeouts) => ({
    ...{ id, wire: 'chat', dialect: 'generic', base_url: `${url}/v1`, api_key: 'failing-key' },
    ...{ allow_private: true, timeouts },
  })
  const model = (id, upstream, as, more = {}) => ({
    ...{ id, context_tokens: 200_000, max_output_tokens: 32_000, price: { input: '1.00', output: '5.00' }, ...more },
    lanes: [{ upstream, model: as }],
  })
  const laneOf = (variant) => {
    // A credential that is refused is refused to every model of its upstream.
    if (variant === 'fails-401') return 'locked-out'
    return variant.includes('late') || variant === 'slow' ? 'patient' : 'quick'
  }
  const plan = (id, allowance) => ({ id, models: ['*'], windows: [{ every: '5h', allowance }] })
  return {
    streams: { silence_before_head: '2s' },
    upstreams: [
      upstream('quick', { first_byte: '1s' }),
      upstream('patient', { first_byte: '4s' }),
      { ...upstream('locked-out', { first_byte: '1s' }), api_key: 'refused-key' },
    ],
    models: [
      ...Object.keys(WAYS).map((variant) => model(variant, laneOf(variant), variant)),
      model('silent-late', 'patient', 'silent'),
      model('dear', 'quick', 'well', { max_output_tokens: 50, price: { input: '1.00', output: '5000.00' } }),
    ],
    plans: [plan('lean', '0.50'), plan('tiny', '0.01')],
  }
}
