// Streams through a proxy that cuts every connection, at one server or at nodes of a cluster that are killed: does a client that takes its
// stream up again get every byte, and is it charged once?
//
//   node test/chaos/resume.mjs [--nodes 1] [--seconds 60] [--cut-ms 2000] [--seed N]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findFreePort } from '../program/free-port.mjs'
import { readOptions } from '../program/options.mjs'
import { findPostgresPrograms, startPostgres } from '../program/postgres.mjs'
import { createAccount, createKey, millrace, placeIn, startServer, verifyLedger } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { createTally } from '../program/tally.mjs'

const options = readOptions({ nodes: 1, seconds: 60, 'cut-ms': 2000 })
const WORD_MS = 100
const LEASE_MS = 3000
const EMAIL = 'resume@localhost'
const ENVIRONMENT = { MILLRACE_SECRET_KEY: 'the-secret-of-the-nodes-in-this-test' }
/** What is streamed is stored once a second, and a busy machine is later. */
const BEHIND_WORDS = 3000 / WORD_MS
/** As the model is configured, and what two intervals of marks may leave out. */
const BYTES_A_TOKEN = 4
const NANO_A_TOKEN = 2000n
const UNMARKED_TOKENS = 20

console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const random = createRandom(options.seed)
const tally = createTally()
const folder = mkdtempSync(join(tmpdir(), 'millrace-resume-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const postgres = options.nodes > 1 ? await openPostgres() : undefined
if (options.nodes > 1 && postgres === undefined) {
  console.log('No PostgreSQL here (initdb, postgres; Debian: apt-get install postgresql): nothing is tried.')
  console.log('0 passed, 0 failed')
  process.exit(0)
}
const provider = await startProvider()
const config = configText()
const nodes = await Promise.all(Array.from({ length: options.nodes }, (_, number) => createNode(number)))
await createAccount(nodes[0].place, { email: EMAIL, credit: '100.00' })
const { key } = await createKey(nodes[0].place, { email: EMAIL })
for (const node of nodes) await node.start()
const proxy = await startProxy()

await resumeThroughCuts()
await readBesideDeath()

for (const node of nodes) await node.stop()
const report = await verifyLedger(nodes[0].place)
tally.check(report.ok, 'db verify finds nothing')
await postgres?.stop()
tally.close()
process.exit()

/** The node that runs the stream lives; the others are killed, or with one server it is killed when the stream has ended. */
async function resumeThroughCuts() {
  const words = Math.round((options.seconds * 1000) / WORD_MS)
  const began = await begin(nodes[0], words)
  const bystanders = nodes.slice(1)
  const killing = bystanders.length > 0 ? killDuring(bystanders, options.seconds * 1000) : undefined
  const reader = await readToEnd(began.id, began.text)
  await killing
  if (bystanders.length === 0) {
    for (let kill = 0; kill < 2; kill++) {
      await nodes[0].kill()
      await nodes[0].start()
    }
  }
  const told = eventsOf(reader.text)
  console.log(`  ${reader.connections} connections, ${proxy.cuts} cuts, ${told.length} events`)
  tally.check(reader.connections > 2, 'its connections were cut')
  tally.check(textOf(told) === spoken(words), 'the whole text has come')
  tally.check(
    told.every(({ sequence_number }, at) => sequence_number === at),
    'each event came once, in order',
  )
  for (const [at, node] of nodes.entries()) {
    const whole = await (await ask(node.port, `responses/${began.id}?stream=true`)).text()
    tally.check(whole === reader.text, `node ${at} gives the same bytes again`)
  }
  await checkCharge(began, told.at(-1)?.response?.usage?.millrace?.charge)
}

/** The node that runs the stream is killed in its middle. */
async function readBesideDeath() {
  for (let time = 0; time < 2; time++) {
    const runner = nodes[time % nodes.length]
    const began = await begin(runner, 600)
    const reading = readToEnd(began.id, began.text)
    await sleep(4000 + random.below(3000))
    const spokenWords = provider.wordsOf(began.id)
    await runner.kill()
    if (nodes.length === 1) await runner.start()
    const { text } = await reading
    if (nodes.length > 1) await runner.start()
    const events = eventsOf(text)
    const [error, last] = events.slice(-2)
    const got = textOf(events).split(' ').filter(Boolean).length
    console.log(`  killed after ${spokenWords} words, ${got} were delivered`)
    tally.check(
      last?.type === 'response.failed' && error?.type === 'error',
      'it ends as failed, in the words of the protocol',
    )
    tally.check(spoken(spokenWords + 50).startsWith(textOf(events)), 'what has come is the beginning of the answer')
    tally.check(
      got >= spokenWords - BEHIND_WORDS,
      `no more than the last seconds are missing (${got} of ${spokenWords})`,
    )
    const again = await (await ask(nodes.at(-1).port, `responses/${began.id}?stream=true`)).text()
    tally.check(textOf(eventsOf(again)).length <= textOf(events).length, 'nothing more is there than was delivered')
    tally.check(eventsOf(again).at(-1)?.type === 'response.failed', 'every later reader is told the same')
    const charged = await checkCharge(began, undefined)
    const least =
      BigInt(Math.max(0, Math.floor(textOf(events).length / BYTES_A_TOKEN) - UNMARKED_TOKENS)) * NANO_A_TOKEN
    tally.check(charged >= least, `what was delivered is charged, but for the last moment (${charged} of ${least})`)
  }
}

async function begin(node, words) {
  const before = await balance()
  const response = await ask(node.port, 'responses', {
    ...{ model: 'slow', input: `count to ${words}`, stream: true, background: true },
  })
  const requestId = response.headers.get('x-request-id')
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (eventsOf(text).length < 3) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`the stream did not begin: ${response.status} ${text}`)
    text += value
  }
  await reader.cancel()
  const whole = text.slice(0, text.lastIndexOf('\n\n') + 2)
  const { id } = eventsOf(whole)[0].response
  provider.name(id)
  return { id, requestId, text: whole, before }
}

/** As a client that resumes does it: behind the last event that it has, through the proxy. */
async function readToEnd(id, begun) {
  let text = begun
  let connections = 0
  for (;;) {
    const last = eventsOf(text).at(-1).sequence_number
    connections += 1
    try {
      const response = await ask(proxy.port, `responses/${id}?stream=true&starting_after=${last}`)
      if (response.status !== 200) throw new Error(`${response.status}`)
      const piece = await readPiece(response.body)
      text += piece
      if (text.endsWith('data: [DONE]\n\n')) return { text, connections }
    } catch {
      await sleep(50)
    }
  }
}

/** The whole frames that come before the connection breaks. */
async function readPiece(body) {
  let piece = ''
  try {
    for await (const text of body.pipeThrough(new TextDecoderStream())) piece += text
  } catch {}
  const frames = piece.slice(0, piece.lastIndexOf('\n\n') + 2)
  return frames.replaceAll(': keep-alive\n\n', '')
}

async function killDuring(some, ms) {
  for (const node of some.slice(0, 2)) {
    await sleep(ms / 4)
    await node.kill()
    await sleep(1000)
    await node.start()
  }
}

/** Its receipt is settled once, and the wallet lost exactly that. */
async function checkCharge({ requestId, before }, told) {
  let receipt
  for (let tries = 0; tries < 200; tries++) {
    receipt = await (await ask(nodes.at(-1).port, `requests/${requestId}`)).json()
    if (receipt.state === 'settled') break
    await sleep(200)
  }
  const charged = nano(receipt.charge)
  console.log(`  receipt: ${receipt.state}, ${receipt.outcome}, ${receipt.charge}`)
  tally.check(receipt.state === 'settled' && charged > 0n, 'it is charged')
  if (told !== undefined) tally.check(nano(told) === charged, 'the charge is what the client was told')
  const after = await balance()
  tally.check(before - after === charged, `the wallet has paid it once (${before - after})`)
  return charged
}

async function balance() {
  return nano((await millrace(nodes[0].place, 'wallet', 'show', EMAIL)).balance)
}

function nano(text) {
  const [whole, part = ''] = String(text).split('.')
  return BigInt(whole + part.padEnd(9, '0'))
}

function spoken(words) {
  return Array.from({ length: words }, (_, at) => String(at + 1)).join(' ')
}

function eventsOf(text) {
  return text.split('\n\n').flatMap((frame) => {
    const data = frame.split('\n').find((line) => line.startsWith('data: {'))
    return data === undefined ? [] : [JSON.parse(data.slice('data: '.length))]
  })
}

function textOf(events) {
  return events
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => delta)
    .join('')
}

function ask(port, path, body) {
  return fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
}

/** Says a number each tenth of a second. */
async function startProvider() {
  const counts = new Map()
  let newest
  const server = createServer((request, response) => {
    request.setEncoding('utf8')
    let body = ''
    request.on('data', (text) => {
      body += text
    })
    request.on('end', async () => {
      const words = Number(/count to (\d+)/.exec(body)[1])
      const count = { words: 0 }
      newest = count
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const say = (delta, finish = null) =>
        response.write(
          `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
        )
      say({ role: 'assistant', content: '' })
      for (let word = 1; word <= words && !response.destroyed; word++) {
        say({ content: word === 1 ? '1' : ` ${word}` })
        count.words = word
        await sleep(WORD_MS)
      }
      say({}, 'stop')
      const usage = { prompt_tokens: 10, completion_tokens: words, total_tokens: words + 10 }
      response.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}\n\n`,
      )
      response.end('data: [DONE]\n\n')
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return {
    port: server.address().port,
    /** The stream that began last belongs to this response. */
    name: (id) => counts.set(id, newest),
    wordsOf: (id) => counts.get(id).words,
  }
}

/** Every connection is cut after a while; each one leads to a node that lives. */
async function startProxy() {
  const pairs = new Set()
  const proxy = { port: 0, cuts: 0 }
  const server = createTcpServer((near) => {
    const alive = nodes.filter(({ isServing }) => isServing)
    if (alive.length === 0) return near.destroy()
    const far = connect(random.pick(alive).port, '127.0.0.1')
    const end = () => {
      pairs.delete(end)
      near.destroy()
      far.destroy()
    }
    pairs.add(end)
    for (const socket of [near, far]) socket.on('error', end).on('close', end)
    near.pipe(far)
    far.pipe(near)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  proxy.port = server.address().port
  setInterval(() => {
    proxy.cuts += pairs.size
    for (const end of [...pairs]) end()
  }, options['cut-ms']).unref()
  return proxy
}

async function createNode(number) {
  const home = join(folder, `node-${number}`)
  mkdirSync(home, { recursive: true })
  const place = placeIn(home, { dist: options.dist, environment: ENVIRONMENT })
  writeFileSync(place.config, config)
  const port = await findFreePort(random)
  let server
  const node = {
    place,
    port,
    isServing: false,
    async start() {
      server = startServer(place, { port })
      await server.ready
      node.isServing = true
    },
    async kill() {
      node.isServing = false
      server.kill('SIGKILL')
      await server.ended
    },
    async stop() {
      node.isServing = false
      server.kill('SIGTERM')
      const { code } = await server.ended
      tally.check(code === 0, `a node ends by itself (${code})`)
    },
  }
  return node
}

function configText() {
  return JSON.stringify({
    upstreams: [{ id: 'far', wire: 'chat', base_url: `http://127.0.0.1:${provider.port}/v1`, allow_private: true }],
    models: [
      {
        ...{ id: 'slow', context_tokens: 20_000, max_output_tokens: 4000 },
        price: { input: '1.00', output: '2.00' },
        lanes: [{ upstream: 'far', model: 'slow' }],
      },
    ],
    server: { metrics_port: 0 },
    ...(postgres === undefined
      ? {}
      : {
          storage: { database: `postgres://tester@localhost/resume?host=${postgres.host}` },
          ledger: { node_lease: `${LEASE_MS}ms` },
        }),
    telemetry: { log: { level: 'warn', format: 'json' } },
  })
}

async function openPostgres() {
  const programs = findPostgresPrograms()
  if (programs === undefined) return undefined
  const server = await startPostgres(programs, { fsync: true })
  process.on('exit', () => rmSync(server.host, { recursive: true, force: true }))
  const admin = new pg.Pool({ host: server.host, user: server.user, database: 'postgres', max: 1 })
  await admin.query('CREATE DATABASE resume')
  await admin.end()
  return server
}
