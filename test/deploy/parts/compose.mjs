// The compose files: validated, and what the services of three-nodes run, as processes on this machine.
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { findFreePort } from '../../program/free-port.mjs'
import { findPostgresPrograms, startPostgres, unprivilegedUser } from '../../program/postgres.mjs'
import { millrace, placeIn, startServer, verifyLedger } from '../../program/program.mjs'
import { createRandom } from '../../program/random.mjs'
import { chatBody, send } from '../lib/client.mjs'
import {
  adapt,
  check,
  commandsUnder,
  openFolder,
  ROOT,
  read,
  requireProgram,
  run,
  Skip,
  start,
  until,
} from '../lib/machine.mjs'

const FOLDER = 'deploy/compose'
const PAGE = 'docs/operate/compose.md'
const PASSWORD = 'b'.repeat(48)
const random = createRandom(process.pid + 3)

export const composeParts = { compose, 'three-nodes': threeNodes }

async function compose() {
  const { words, by } = await findCompose()
  const copy = openFolder('compose')
  await run('cp', ['-r', join(ROOT, FOLDER), join(ROOT, 'docs'), copy])
  mkdirSync(join(copy, 'deploy'))
  await run('mv', [join(copy, 'compose'), join(copy, 'deploy')])
  for (const [heading, file] of [
    ['One node', 'one-node'],
    ['Three nodes with PostgreSQL', 'three-nodes'],
  ]) {
    const path = join(copy, FOLDER, `${file}.yaml`)
    // Older than the key `name`.
    if (by === 'docker-compose') writeFileSync(path, read(`${FOLDER}/${file}.yaml`).replace(/^name: .*$/m, ''))
    const lines = commandsUnder(PAGE, heading)
    const validation = lines.findIndex((line) => / config --quiet$/.test(line))
    for (const line of lines.slice(0, validation)) await run('bash', ['-ec', line], { cwd: copy })
    await run('bash', ['-ec', lines[validation].replace(/^docker compose/, words)], { cwd: copy })
    const text = read(`${FOLDER}/${file}.yaml`)
    check(text.includes('test: [CMD, millrace, status, --ready]'), `${file} asks whether the node is ready`)
  }
  return `both files are valid (${by})`
}

async function findCompose() {
  if ((await run('docker', ['compose', 'version'], { mayFail: true }).catch(() => ({ code: 1 }))).code === 0)
    return { words: 'docker compose', by: 'docker compose' }
  requireProgram('docker-compose')
  return { words: 'docker-compose', by: 'docker-compose' }
}

async function threeNodes() {
  const nginx = requireProgram('nginx')
  const pgbouncer = requireProgram('pgbouncer')
  const programs = findPostgresPrograms()
  if (programs === undefined) throw new Skip('PostgreSQL is not installed')
  const postgres = await startPostgres(programs, { fsync: true })
  const running = []
  try {
    await createDatabase(postgres)
    const pooler = await startPooler(pgbouncer, postgres)
    running.push(pooler)
    const nodes = await startNodes(pooler.port)
    running.push(...nodes)
    const front = await startNginx(nginx, nodes)
    running.push(front)
    const [first, , third] = nodes
    await millrace(first.place, 'accounts', 'create', '--email', 'you@example.com')
    await millrace(
      first.place,
      'wallet',
      'credit',
      'you@example.com',
      '10.00',
      '--reason',
      'first credit',
      '--ref',
      'first',
    )
    const words = ['keys', 'create', '--account', 'you@example.com', '--kind', 'wallet', '--name', 'first']
    const { key } = await millrace(third.place, ...words)
    const target = { url: front.url, key }
    for (let count = 0; count < 6; count += 1) await streamOnce(target)
    const served = await Promise.all(nodes.map(async ({ place }) => (await millrace(place, 'status')).requests_served))
    check(
      served.every((count) => count > 0),
      `nginx uses all nodes: ${served}`,
    )

    // A node is replaced while clients go on.
    const beside = Promise.all(Array.from({ length: 4 }, () => streamOnce(target)))
    check((await nodes[1].stop()) === 0, 'a node that is stopped ends with 0')
    await beside
    for (let count = 0; count < 4; count += 1) await streamOnce(target)
    const { ok } = await verifyLedger(first.place)
    check(ok, 'the ledger balances')
    return 'PostgreSQL, PgBouncer, three nodes and nginx as processes, one node stopped under load'
  } finally {
    for (const each of running.reverse()) await each.stop()
    await postgres.stop()
  }
}

async function createDatabase({ host, user }) {
  const client = new pg.Client({ host, user, database: 'postgres' })
  await client.connect()
  await client.query('CREATE ROLE millrace LOGIN')
  await client.query('CREATE DATABASE millrace OWNER millrace')
  await client.end()
}

/** With its start script and its settings. */
async function startPooler(program, { host }) {
  const folder = mkdtempSync('/tmp/millrace-pgb-')
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const owner = process.getuid?.() === 0 ? await unprivilegedUser() : undefined
  const port = await findFreePort(random)
  const settings = adapt(read(`${FOLDER}/pgbouncer/pgbouncer.ini`), {
    'host=postgres': `host=${host}`,
    'listen_addr = 0.0.0.0': 'listen_addr = 127.0.0.1',
    'listen_port = 6432': `listen_port = ${port}`,
    '/tmp/userlist.txt': join(folder, 'userlist.txt'),
  })
  const script = adapt(read(`${FOLDER}/pgbouncer/start.sh`), {
    '/run/secrets/postgres_password': join(folder, 'postgres_password'),
    '/tmp/userlist.txt': join(folder, 'userlist.txt'),
    'exec pgbouncer': `exec ${program}`,
    '/etc/pgbouncer/millrace.ini': join(folder, 'millrace.ini'),
  })
  const files = { 'millrace.ini': settings, 'start.sh': script, postgres_password: `${PASSWORD}\n` }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  if (owner) for (const name of ['', ...Object.keys(files)]) chownSync(join(folder, name), owner.uid, owner.gid)
  const pooler = start('sh', [join(folder, 'start.sh')], { ...owner, cwd: folder })
  await until('the start of PgBouncer', async () => {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: 'millrace',
      password: PASSWORD,
      database: 'millrace',
    })
    await client.connect()
    await client.end()
    return true
  }).catch((error) => {
    throw new Error(`${error.message}\n${pooler.output}`, { cause: error.cause })
  })
  return { port, stop: () => pooler.stop('SIGINT') }
}

/** With their configuration. */
async function startNodes(poolerPort) {
  const secrets = openFolder('secrets')
  writeFileSync(join(secrets, 'postgres_password'), `${PASSWORD}\n`)
  writeFileSync(join(secrets, 'millrace_secret_key'), `${'k'.repeat(44)}\n`)
  const config = adapt(read(`${FOLDER}/config/three-nodes.yaml`), {
    '/run/secrets/': `${secrets}/`,
    'pgbouncer:6432': `127.0.0.1:${poolerPort}`,
    '172.31.46.0/24': '127.0.0.1',
  })
  const environment = {
    MILLRACE_SECRET_KEY_FILE: join(secrets, 'millrace_secret_key'),
    MILLRACE_SERVER__METRICS_PORT: '0',
  }
  const nodes = [1, 2, 3].map((number) => {
    const place = placeIn(openFolder(`node${number}`), { environment })
    writeFileSync(place.config, config)
    return place
  })
  const servers = nodes.map((place) => startServer(place))
  return Promise.all(
    servers.map(async (server, at) => ({
      place: nodes[at],
      url: await server.ready,
      async stop() {
        server.kill('SIGTERM')
        return (await server.ended).code
      },
    })),
  )
}

async function startNginx(program, nodes) {
  const folder = openFolder('nginx')
  const port = await findFreePort(random)
  const site = adapt(read(`${FOLDER}/nginx/millrace.conf`), {
    'listen 8080': `listen 127.0.0.1:${port}`,
    ...Object.fromEntries(nodes.map(({ url }, at) => [`node${at + 1}:4600`, new URL(url).host])),
  })
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const whole = `${user} daemon off; pid ${folder}/pid; events {} http { access_log off; ${temporary.join(' ')}\n${site}\n}`
  writeFileSync(join(folder, 'nginx.conf'), whole)
  const server = start(program, ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', join(folder, 'error.log')])
  const url = `http://127.0.0.1:${port}`
  await until('the start of nginx', async () => (await send({ url }, '/readyz')).status === 200)
  return { url, stop: () => server.stop() }
}

async function streamOnce(target) {
  const answer = await send(target, '/v1/chat/completions', { body: chatBody() })
  const text = await answer.text()
  check(
    answer.status === 200 && text.endsWith('data: [DONE]\n\n'),
    `an answer is streamed: ${answer.status} ${text.slice(-200)}`,
  )
}
