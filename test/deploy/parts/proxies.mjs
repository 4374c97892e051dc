// The proxies with the configuration files of deploy/proxy, in front of the real server.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { findFreePort } from '../../program/free-port.mjs'
import { createAccount, createKey, placeIn, startServer, verifyLedger } from '../../program/program.mjs'
import { createRandom } from '../../program/random.mjs'
import { chatBody, send, sendOverHttp2 } from '../lib/client.mjs'
import { adapt, check, openFolder, read, requireProgram, run, start, until, within } from '../lib/machine.mjs'
import { openProvider } from '../lib/paced-provider.mjs'

const MEGABYTE = 1024 * 1024
const REFUSALS = 5
/** The keep-alives of the gateway while a model is silent, and a proxy that gives up after three times as long. */
const KEEP_ALIVE = '1s'
const SHORT_TIMEOUT = '3s'
const SILENCE_MS = 5_000
const random = createRandom(process.pid)

/** How each is started, and what of its example is different here. `prefix`: the block of the page, and where it belongs. */
const PROXIES = {
  nginx: {
    file: 'nginx.conf',
    start: (program, folder, config) => {
      const whole = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {} http { access_log off;
        client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
        uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;\n${config}\n}`
      writeFileSync(join(folder, 'nginx.conf'), `${process.getuid?.() === 0 ? 'user root;' : ''}${whole}`)
      return start(program, ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', join(folder, 'error.log')])
    },
    replacements: ({ port, gateway, cert, key }) => ({
      'listen 443': `listen 127.0.0.1:${port}`,
      'server 127.0.0.1:4600': `server ${gateway}`,
      '/etc/ssl/millrace/cert.pem': cert,
      '/etc/ssl/millrace/key.pem': key,
    }),
    shortTimeouts: { 'proxy_read_timeout 31m': `proxy_read_timeout ${SHORT_TIMEOUT}` },
    withPrefix: (config, block) => config.replace(/\}\s*$/, `${block}\n}\n`),
  },
  caddy: {
    file: 'Caddyfile',
    start: (program, folder, config) => {
      writeFileSync(
        join(folder, 'Caddyfile'),
        `{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system ${folder}\n}\n${config}`,
      )
      const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
      return start(program, ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], { env })
    },
    replacements: ({ port, gateway, cert, key }) => ({
      'llm.example.com {': `llm.example.com:${port} {\n\tbind 127.0.0.1\n\ttls ${cert} ${key}`,
      '127.0.0.1:4600': gateway,
    }),
    withPrefix: (config, block) => config.replace('\treverse_proxy', `${block}\n\treverse_proxy`),
  },
  haproxy: {
    file: 'haproxy.cfg',
    start: (program, folder, config) => {
      writeFileSync(join(folder, 'haproxy.cfg'), config)
      return start(program, ['-db', '-f', join(folder, 'haproxy.cfg')])
    },
    replacements: ({ port, gateway, both }) => ({
      'bind :443': `bind 127.0.0.1:${port}`,
      '/etc/ssl/millrace/cert-and-key.pem': both,
      'node1 127.0.0.1:4600': `node1 ${gateway}`,
    }),
    shortTimeouts: {
      'timeout client 31m': `timeout client ${SHORT_TIMEOUT}`,
      'timeout server 31m': `timeout server ${SHORT_TIMEOUT}`,
    },
    withPrefix: (config, block) => config.replace('  default_backend', `${block}\n  default_backend`),
  },
}

export const proxyParts = Object.fromEntries(
  Object.entries(PROXIES).map(([name, proxy]) => [name, (options) => behind(name, proxy, options)]),
)

async function behind(name, proxy, options) {
  const program = requireProgram(name)
  const scene = await openScene(name, proxy, program)
  try {
    const target = await scene.startProxy({})
    await streams(scene, target)
    await ends(scene, target)
    await addresses(target)
    await bodies(scene, target)
    await jsonAfterSilence(scene, target, options['silence-ms'])
    await belowPrefix({ ...target, url: `${target.url}/llm` })
    if (proxy.shortTimeouts) await keepAlives(scene, await scene.startProxy(proxy.shortTimeouts))
  } catch (error) {
    throw new Error(`${error.message}\n${scene.proxyOutput().slice(-2000)}`, { cause: error })
  } finally {
    await scene.close()
  }
  const { ok } = await verifyLedger(scene.place)
  check(ok, 'the ledger balances')
  return 'chunks over HTTP/1.1 and 2, silence, disconnect, TLS, client address, bodies, path prefix with the console'
}

async function openScene(name, proxy, program) {
  const folder = openFolder(name)
  const provider = await openProvider()
  const place = placeIn(folder)
  writeFileSync(place.config, JSON.stringify(configFor(provider.url)))
  await createAccount(place, { email: 'owner@localhost' })
  const { key } = await createKey(place, { email: 'owner@localhost' })
  const server = startServer(place)
  const gateway = new URL(await server.ready).host
  const certificate = await makeCertificate(folder)
  let running

  return {
    ...{ provider, place },
    proxyOutput: () => running?.output ?? '',
    /** Starts it with the example of deploy/proxy, instead of the one before. */
    async startProxy(more) {
      await running?.stop()
      const port = await findFreePort(random)
      const example = adapt(read(`deploy/proxy/${proxy.file}`), {
        ...proxy.replacements({ port, gateway, ...certificate }),
        ...more,
      })
      const prefix = prefixBlock(name).replaceAll('127.0.0.1:4600', gateway)
      running = proxy.start(program, folder, proxy.withPrefix(example, prefix))
      const target = { url: `https://127.0.0.1:${port}`, ca: certificate.pem, key }
      const isReady = async () => (await send(target, '/readyz')).status === 200
      await until(`the start of ${name}`, () => running.isOver || isReady())
      check(!running.isOver, `${name} starts`)
      return target
    },
    async close() {
      await running?.stop()
      provider.close()
      server.kill('SIGTERM')
      check((await server.ended).code === 0, 'the server ends with 0')
    },
  }
}

/** The block of docs/operate/reverse-proxies.md that adds a prefix. */
function prefixBlock(name) {
  const [, section = ''] = read('docs/operate/reverse-proxies.md').split('\n## A path prefix\n')
  const [, block] = new RegExp(`\`\`\`${name}\\n(.*?)\`\`\``, 's').exec(section) ?? []
  check(block !== undefined, `the page has a prefix for ${name}`)
  return block
}

const configFor = (provider) => ({
  server: { public_url: 'https://llm.example.com/llm', trust_proxy: ['127.0.0.1'], metrics_port: 0 },
  // The port of the proxy differs from that of the public URL.
  console: { hosts: ['llm.example.com'] },
  telemetry: { metrics: false },
  streams: { keep_alive: KEEP_ALIVE, silence_before_head: '1s' },
  limits: { address: { refused_per_minute: REFUSALS } },
  upstreams: [{ id: 'paced', wire: 'chat', base_url: provider, allow_private: true }],
  models: [
    {
      ...{ id: 'demo', context_tokens: 20_000_000, max_output_tokens: 1000, price: { input: '0.01', output: '0.01' } },
      lanes: [{ upstream: 'paced', model: 'paced' }],
    },
  ],
})

async function makeCertificate(folder) {
  const [cert, key, both] = ['cert.pem', 'key.pem', 'both.pem'].map((name) => join(folder, name))
  await run(requireProgram('openssl'), [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=llm.example.com'],
    ...['-addext', 'subjectAltName=DNS:llm.example.com,IP:127.0.0.1', '-keyout', key, '-out', cert],
  ])
  const { out: pem } = await run('cat', [cert])
  writeFileSync(both, (await run('cat', [cert, key])).out)
  return { cert, key, both, pem }
}

/** The provider sends the next piece only when the client has read the one before. */
async function streams({ provider }, target) {
  for (const sendChat of [send, sendOverHttp2]) {
    const answer = sendChat(target, '/v1/chat/completions', { body: chatBody() })
    const call = await provider.nextCall()
    for (const word of ['one', 'two', 'three']) {
      call.send(word)
      await (await answer).reads(word)
    }
    call.finish()
    check((await (await answer).text()).endsWith('data: [DONE]\n\n'), 'the stream ends with [DONE]')
  }
}

/** A client that disconnects ends the provider's call, in a stream and while it waits for JSON. */
async function ends({ provider }, target) {
  const stream = send(target, '/v1/chat/completions', { body: chatBody() })
  const streamed = await provider.nextCall()
  streamed.send('begun')
  await (await stream).reads('begun')
  stream.disconnect()
  await within(10_000, "the end of a stream's call", streamed.closed)
  const json = send(target, '/v1/chat/completions', { body: chatBody({ stream: false }) })
  const silent = await provider.nextCall()
  json.disconnect()
  await within(10_000, 'the end of a call whose answer has not begun', silent.closed)
}

/** Wrong keys count for the address that the proxy names, so those of one client do not shut out another. */
async function addresses(target) {
  const wrong = { ...target, key: 'mr_wallet_wrong' }
  const refused = async (localAddress) => (await send(wrong, '/v1/models', { localAddress })).status
  for (let count = 0; count < REFUSALS; count += 1) check((await refused('127.0.0.2')) === 401, 'a wrong key gets 401')
  check((await refused('127.0.0.2')) === 429, 'a client with many wrong keys gets 429')
  check((await refused('127.0.0.3')) === 401, 'another client behind the same proxy does not')
}

async function bodies({ provider }, target) {
  const large = chatBody({ stream: false, messages: [{ role: 'user', content: 'x'.repeat(20 * MEGABYTE) }] })
  const answer = send(target, '/v1/chat/completions', { body: large })
  const call = await provider.nextCall()
  check(call.request.messages[0].content.length === 20 * MEGABYTE, 'the provider gets a body of 20 MiB')
  call.answer('large')
  check((await answer).status === 200, 'a body of 20 MiB is served')
  const tooLarge = await send(target, '/v1/chat/completions', { body: `"${'x'.repeat(33 * MEGABYTE)}"` }).catch(
    () => undefined,
  )
  check(tooLarge === undefined || tooLarge.status === 413, `a body of 33 MiB gets 413, not ${tooLarge?.status}`)
}

/** A JSON answer sends nothing until it is complete. */
async function jsonAfterSilence({ provider }, target, silenceMs) {
  const answer = send(target, '/v1/chat/completions', { body: chatBody({ stream: false }) })
  const call = await provider.nextCall()
  await pause(silenceMs)
  call.answer('late')
  check(JSON.parse(await (await answer).text()).choices[0].message.content === 'late', 'a late JSON answer arrives')
}

/** The path prefix of the page leads to the API, the documentation and the console with all its files. */
async function belowPrefix(target) {
  const text = async (path) => (await send(target, path)).text()
  check(JSON.parse(await text('/v1/models')).data[0].id === 'demo', 'the prefix leads to /v1')
  check((await send(target, '/docs/operate/running')).status === 200, 'the prefix leads to the documentation')
  const files = [...(await text('/console/keys')).matchAll(/(?:href|src)="([^"]*)"/g)].map(([, file]) => file)
  check(files.length > 3, 'the prefix leads to the console')
  for (const file of files) {
    const status = file.startsWith('/llm/') && (await send(target, file.slice('/llm'.length))).status
    check(status === 200, `${file} of the console is served`)
  }
}

/** The proxy gives up after less than the silence, but the gateway's comments pass it. */
async function keepAlives({ provider }, target) {
  const answer = send(target, '/v1/chat/completions', { body: chatBody() })
  const call = await provider.nextCall()
  call.send('before')
  await (await answer).reads('before')
  await pause(SILENCE_MS)
  check(/\n: ?/.test((await answer).soFar()), 'comments arrive while the model is silent')
  call.send('after')
  await (await answer).reads('after')
  call.finish()
  await (await answer).text()
}
