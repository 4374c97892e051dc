import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** The whole program, as an operator has it: the file is changed under a running server. */
const PROGRAM = fileURLToPath(new URL('../../dist/app/main.js', import.meta.url))

let folder: string
let server: ReturnType<typeof start> | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-reload-'))
})

afterEach(async () => {
  server?.process.kill('SIGTERM')
  await server?.ended
  server = undefined
  await rm(folder, { recursive: true })
})

const configOf = (models: readonly string[], price = '0.10') => `server: { port: 0, metrics_port: 0 }
upstreams: [{ id: demo, wire: demo }]
models:
${models.map((id) => `  - { id: ${id}, context_tokens: 8000, max_output_tokens: 1000, price: { input: "${price}", output: "0.40" }, lanes: [{ upstream: demo, model: demo }] }`).join('\n')}
`

const write = (text: string) => writeFile(join(folder, 'millrace.yaml'), text)
const args = (...rest: string[]) => [
  PROGRAM,
  '--config',
  join(folder, 'millrace.yaml'),
  '--data',
  join(folder, 'data'),
  ...rest,
]

function start(program = args()) {
  const child = spawn(process.execPath, [...program, 'serve', '--log-format', 'json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let emitted = ''
  child.stdout.on('data', (bytes) => {
    emitted += bytes
  })
  return { process: child, emitted: () => emitted, ended: new Promise((resolve) => child.once('exit', resolve)) }
}

/** Without the file, which may be the faulty one: the server in the data folder is what is asked. */
async function run(...rest: string[]): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, '--data', join(folder, 'data'), ...rest], {
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let emitted = ''
  for await (const bytes of child.stdout) emitted += bytes
  return emitted.trim()
}

const modelIds = async (): Promise<string[]> =>
  JSON.parse(await run('models', '--json')).models.map(({ id }: { id: string }) => id)

const refusal = async () => JSON.parse(await run('status', '--json')).reload_refused

/** What is polled may be a command in a process of its own, which takes seconds on a busy machine. */
const poll = { timeout: 30_000, interval: 100 }
const reloaded = (times: number) =>
  expect.poll(() => server?.emitted().split('the configuration was reloaded').length, poll).toBeGreaterThan(times)

describe('a configuration that changes under a running server', () => {
  beforeEach(async () => {
    await write(configOf(['one']))
    server = start()
    await expect.poll(() => server?.emitted(), poll).toContain('ready')
  })

  it('takes effect when the file is written or replaced, and an invalid file changes nothing', async () => {
    await write(configOf(['one', 'two']))
    await reloaded(1)
    await expect.poll(modelIds, poll).toEqual(['one', 'two'])

    await write('models: [{ id: three, price: free }]\n')
    await expect.poll(() => server?.emitted(), poll).toContain('was not reloaded')
    expect(server?.emitted()).toContain('millrace.yaml:1')
    expect(await modelIds()).toEqual(['one', 'two'])
    expect(await refusal()).toContain('millrace.yaml:1')
    expect(await run('status')).toContain('the file on disk was rejected: ')

    await write('')
    await expect.poll(() => server?.emitted(), poll).toContain('empty or missing')
    expect(await modelIds()).toEqual(['one', 'two'])

    const other = join(folder, 'new.yaml')
    await writeFile(other, configOf(['three']))
    await rename(other, join(folder, 'millrace.yaml'))
    await reloaded(2)
    await expect.poll(modelIds, poll).toEqual(['three'])
    expect(await refusal()).toBeNull()
  })

  it('takes effect when an included file, or a new one that its pattern matches, is written', async () => {
    const [head = '', models = ''] = configOf(['extra']).split('models:\n')
    await mkdir(join(folder, 'models'))
    await write(`include: ["models/*.yaml"]\n${configOf(['one'])}`)
    await reloaded(1)
    await writeFile(join(folder, 'models', 'extra.yaml'), `models:\n${models}`)
    await reloaded(2)
    await expect.poll(modelIds, poll).toEqual(['one', 'extra'])
    await writeFile(join(folder, 'models', 'extra.yaml'), head)
    await expect.poll(refusal, poll).toContain('this key is set twice')
    expect(await modelIds()).toEqual(['one', 'extra'])
  })

  it('is not forgotten when a file that was found by itself is deleted', async () => {
    server?.process.kill('SIGTERM')
    await server?.ended
    server = start([PROGRAM, '--data', join(folder, 'data')])
    await expect.poll(() => server?.emitted(), poll).toContain('ready')
    await rm(join(folder, 'millrace.yaml'))
    await expect.poll(() => server?.emitted(), poll).toContain('empty or missing')
    expect(await modelIds()).toEqual(['one'])
  })

  it('gives a changed price the next version, and reports what takes effect at the next start', async () => {
    await write(configOf(['one'], '0.20').replace('port: 0,', 'port: 4999,'))
    server?.process.kill('SIGHUP')
    await expect.poll(() => server?.emitted(), poll).toContain('take effect at the next start')
    expect(server?.emitted()).toContain('"server"')
    const [model] = JSON.parse(await run('models', '--json')).models
    expect(JSON.stringify(model.price)).toContain('0.20')
  })
})
