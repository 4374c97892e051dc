import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/fixtures/app/app.ts'
import { createTestTerminal, type TestTerminal } from '../../test/fixtures/cli/terminal.ts'
import type { OperationArgs, OperationName } from '../admin/operations.ts'
import type { ServeOptions } from '../cli/cli-services.ts'
import { loadSettings } from '../config/load-config.ts'
import { systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { createOperator } from './operator.ts'
import { serve } from './serve.ts'
import type { ServeDeps } from './server-note.ts'

let folder: string
let data: string
let running: { exit: Promise<number>; stop(): void }[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-serve-'))
  data = join(folder, 'data')
  running = []
})

afterEach(async () => {
  for (const server of running) server.stop()
  await Promise.all(running.map((server) => server.exit))
  await rm(folder, { recursive: true })
})

const scene = () => ({ cwd: folder, environment: { HOME: folder, MILLRACE_SERVER__METRICS_PORT: '0' } })
const common = () => ({
  version: '1.0.0',
  program: 'millrace',
  node: '20.20.2',
  clock: systemClock,
  random: secureRandom,
  openApp: openTestApp,
})
const operator = () =>
  createOperator({
    ...common(),
    loadSettings: (place) => loadSettings(scene(), place),
    pause: () => new Promise((resolve) => setTimeout(resolve, 1)),
  })
const operate = <Name extends OperationName>(name: Name, args: OperationArgs<Name>) =>
  operator().call({ config: undefined, data }, name, args)

/** Starts a server and waits until it has said that it is ready, or has given up. */
async function start(options: Partial<ServeOptions> = {}, terminal = createTestTerminal()) {
  let stop = () => {}
  const signal = new Promise<void>((resolve) => {
    stop = resolve
  })
  let fault: (error: unknown) => void = () => {}
  let ready = () => {}
  const isReady = new Promise<void>((resolve) => {
    ready = resolve
  })
  const deps: ServeDeps = {
    ...common(),
    pid: process.pid,
    faults: {
      take(onFault) {
        fault = onFault
        return () => {}
      },
    },
    terminal: {
      ...terminal,
      err: (text) => {
        terminal.err(text)
        if (text.includes('Ready in')) ready()
      },
    },
    loadSettings: (flags) => loadSettings(scene(), flags),
    openSignals: () => ({ next: () => signal, onReload: () => {}, close: () => {} }),
  }
  const flags = {
    config: undefined,
    data,
    host: undefined,
    port: 0,
    metricsPort: undefined,
    logLevel: undefined,
    logFormat: undefined,
  }
  const exit = serve(deps, { ...flags, ...options })
  running.push({ exit, stop })
  await Promise.race([isReady, exit])
  return { exit, stop, terminal, fault: (error: unknown) => fault(error) }
}

const urlIn = (terminal: TestTerminal) => /API +(http:\S+)\/v1/.exec(terminal.emitted.err)?.[1]
const modeOf = async (name: string) => (await stat(join(data, name))).mode & 0o777

describe('the first run', () => {
  it('prints the key on a terminal and writes it nowhere', async () => {
    const { terminal } = await start({}, createTestTerminal({ attended: true }))
    const key = /Key \(shown once\): {2}(mr_wallet_\w+)/.exec(terminal.emitted.err)?.[1]
    expect(key).toBeDefined()
    expect(terminal.emitted.err).toContain(`Bearer ${key}`)
    expect(terminal.emitted.out).toBe('')
    for (const name of await readdir(data)) {
      if (name.endsWith('.sock')) continue
      expect((await readFile(join(data, name))).includes(key!)).toBe(false)
    }
  })

  it('elsewhere writes it to a file of its owner, and the curl line reads it from there', async () => {
    const { terminal } = await start()
    expect(await modeOf('first-key')).toBe(0o600)
    const key = (await readFile(join(data, 'first-key'), 'utf8')).trim()
    expect(key).toMatch(/^mr_wallet_/)
    expect(terminal.emitted.err).not.toContain(key)
    expect(terminal.emitted.err).toContain(`Bearer $(cat ${join(data, 'first-key')})`)
    expect(await operate('accounts.list', {})).toMatchObject({
      value: { items: [{ wallet: { available: '10.00' }, keys: 1 }] },
    })
  })

  it('replaces the key file of an earlier database, also a readable one or a link', async () => {
    await mkdir(data)
    await writeFile(join(folder, 'elsewhere'), 'theirs', { mode: 0o644 })
    await symlink(join(folder, 'elsewhere'), join(data, 'first-key'))
    await start()
    expect(await readFile(join(data, 'first-key'), 'utf8')).toMatch(/^mr_wallet_/)
    expect((await lstat(join(data, 'first-key'))).mode & 0o777).toBe(0o600)
    expect(await readFile(join(folder, 'elsewhere'), 'utf8')).toBe('theirs')
  })

  it('happens once', async () => {
    const first = await start()
    first.stop()
    expect(await first.exit).toBe(0)
    const { terminal } = await start()
    expect(terminal.emitted.err).not.toContain('First run')
    // With the address of the console and the sign-up link of the first person.
    expect(terminal.emitted.err.trimEnd().split('\n')).toHaveLength(7)
    expect(await operate('accounts.list', {})).toMatchObject({ value: { items: [{}] } })
  })

  it.each([
    ['the server is open to others', { host: '0.0.0.0' }],
    ['there is a configuration', { config: 'millrace.yaml' }],
  ])('does not happen when %s: the three commands are named instead', async (_, options) => {
    await writeFile(join(folder, 'millrace.yaml'), 'server: { metrics_port: 0 }\n')
    const { terminal } = await start(options)
    for (const command of ['accounts create', 'wallet credit', 'keys create']) {
      expect(terminal.emitted.err).toContain(`millrace ${command}`)
    }
    expect(terminal.emitted.err).not.toContain('mr_wallet_')
    expect(await operate('accounts.list', {})).toMatchObject({ value: { items: [] } })
  })
})

describe('serve', () => {
  it('keeps its folder and its socket to itself, and leaves no trace of itself', async () => {
    const { exit, stop, terminal } = await start()
    expect((await stat(data)).mode & 0o777).toBe(0o700)
    expect(await modeOf('admin.sock')).toBe(0o600)
    expect(await modeOf('server.json')).toBe(0o600)
    expect(JSON.parse(await readFile(join(data, 'server.json'), 'utf8'))).toEqual({
      pid: process.pid,
      url: urlIn(terminal),
      version: '1.0.0',
      socket: join(data, 'admin.sock'),
      config: null,
    })
    stop()
    expect(await exit).toBe(0)
    expect(terminal.emitted.err).toContain('Stopped. 2 requests, 0 lost.')
    expect(await readdir(data)).not.toContain('server.json')
    expect(await readdir(data)).not.toContain('admin.sock')
  })

  it('without a console does not mention one, and makes no sign-up link', async () => {
    const { terminal } = await start({ console: 'false' })
    expect(terminal.emitted.err).toContain('Ready in')
    expect(terminal.emitted.err).not.toContain('onsole')
    expect(await readdir(data)).not.toContain('console-setup')
    await start({ data: join(folder, 'other') })
    expect(await readdir(join(folder, 'other'))).toContain('console-setup')
  })

  it('drains, closes and exits with 1 after an uncaught error', async () => {
    const { exit, terminal, fault } = await start()
    fault(new Error('boom'))
    fault(new Error('again'))
    expect(await exit).toBe(1)
    expect(terminal.emitted.err).toContain('An unexpected error stops this server')
    expect(terminal.emitted.err).toContain('Stopped. 2 requests, 0 lost.')
    expect(await readdir(data)).not.toContain('server.json')
  })

  it('exits with 2 and the place of the mistake when the configuration is invalid', async () => {
    await writeFile(join(folder, 'bad.yaml'), 'server:\n  prot: 1\n')
    const { exit, terminal } = await start({ config: 'bad.yaml' })
    expect(await exit).toBe(2)
    expect(terminal.emitted.err).toContain('bad.yaml:2:')
  })

  it('exits with 4 and names the holder of a locked data folder', async () => {
    const first = await start()
    const { exit, terminal } = await start()
    expect(await exit).toBe(4)
    expect(terminal.emitted.err).toContain(`in use by pid ${process.pid} (millrace 1.0.0, ${urlIn(first.terminal)})`)
    expect(await operate('status', {})).toMatchObject({ value: { running: true } })
  })

  it('exits with 4 and names the owner of a taken port, and unlocks the folder', async () => {
    const other = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    const { exit, terminal } = await start({ port })
    expect(await exit).toBe(4)
    expect(terminal.emitted.err).toContain(`Port ${port} (server.port) is taken by `)
    if (process.platform === 'linux') expect(terminal.emitted.err).toContain(`pid ${process.pid} (`)
    await new Promise((resolve) => other.close(resolve))
    expect((await operate('accounts.list', {})).kind).toBe('done')
  })

  it('exits with 4 when its address is not one of this machine', async () => {
    const { exit, terminal } = await start({ host: '203.0.113.7' })
    expect(await exit).toBe(4)
    expect(terminal.emitted.err).toContain('203.0.113.7 is not an address of this machine.')
  })

  it('exits with 4 when a configured metrics port is taken', async () => {
    const other = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    await writeFile(join(folder, 'millrace.yaml'), `server: { metrics_port: ${port} }\n`)
    const settings = { cwd: folder, environment: { HOME: folder } }
    const terminal = createTestTerminal()
    const deps: ServeDeps = {
      ...common(),
      pid: process.pid,
      terminal,
      faults: { take: () => () => {} },
      loadSettings: (flags) => loadSettings(settings, flags),
      openSignals: () => ({ next: () => new Promise(() => {}), onReload: () => {}, close: () => {} }),
    }
    const flags = {
      config: undefined,
      data,
      host: undefined,
      port: 0,
      metricsPort: undefined,
      logLevel: undefined,
      logFormat: undefined,
    }
    expect(await serve(deps, flags)).toBe(4)
    expect(terminal.emitted.err).toContain(`Port ${port} (server.metrics_port) is taken by `)
    await new Promise((resolve) => other.close(resolve))
  })
})

describe('the operator', () => {
  it('gets the same answers through the socket and without a server', async () => {
    await mkdir(data)
    const script = async () => {
      const answers: unknown[] = []
      const ask = async <Name extends OperationName>(name: Name, args: OperationArgs<Name>) => {
        const answer = await operate(name, args)
        answers.push(answer)
        return answer
      }
      await ask('accounts.create', { email: 'a@example.com' })
      await ask('accounts.create', { email: 'a@example.com' })
      await ask('wallet.credit', { account: 'a@example.com', amount: '5', reason: 'r', ref: 'r' })
      await ask('wallet.credit', { account: 'a@example.com', amount: '6', reason: 'r', ref: 'r' })
      await ask('wallet.show', { account: 'a@example.com' })
      const key = await ask('keys.create', { account: 'a@example.com', kind: 'wallet', name: 'ci' })
      if (key.kind === 'done') await ask('keys.revoke', { key: key.value.id })
      await ask('keys.list', {})
      await ask('models.list', {})
      await ask('requests.trace', { request: 'req_none' })
      await ask('db.verify', {})
      return (
        JSON.stringify(answers, null, 1)
          .replace(/(acct|key)_[0-9a-z]{26}/g, '$1')
          .replace(/mr_wallet_[\w.]+/g, 'mr_wallet')
          .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
          // A starting server has made the sign-up link of the first person.
          .replace(/"audited": \d+/, 'audited')
          .replace(/[0-9a-f]{64}/, 'hash')
      )
    }
    const offline = await script()
    await rm(data, { recursive: true })
    await writeFile(join(folder, 'millrace.yaml'), '')
    await start({ config: 'millrace.yaml' })
    expect(await script()).toBe(offline)
  })

  it('detects that a server was killed, by what it left behind', async () => {
    await mkdir(data)
    await operate('accounts.create', { email: 'a@example.com' })
    await writeFile(join(data, 'admin.sock'), '')
    const note = { pid: 999_999, url: null, version: '0.0.1', socket: join(data, 'admin.sock') }
    await writeFile(join(data, 'server.json'), JSON.stringify(note))
    expect((await operate('accounts.list', {})).kind).toBe('done')
    expect(await operate('status', {})).toMatchObject({ value: { running: false } })
    const { terminal } = await start()
    expect(terminal.emitted.err).toContain('Ready in')
    expect(await operate('status', {})).toMatchObject({ value: { running: true, version: '1.0.0' } })
  })

  it('refuses a folder without a ledger; only accounts create starts one, in a folder that exists', async () => {
    for (const name of ['db.verify', 'accounts.list', 'accounts.create'] as const) {
      const answer = await operate(name, { email: 'a@example.com' } as never)
      expect(answer).toMatchObject({ kind: 'unreachable', exit: 1, message: expect.stringContaining(data) })
      await expect(stat(data)).rejects.toThrow()
    }
    await mkdir(data)
    expect((await operate('db.verify', {})).kind).toBe('unreachable')
    expect(await readdir(data)).toEqual([])
    expect((await operate('accounts.create', { email: 'a@example.com' })).kind).toBe('done')
  })

  it('reports that the folder is a file', async () => {
    await writeFile(data, '')
    const message = expect.stringContaining(`${data} is a file, not a data folder.`)
    expect(await operate('accounts.list', {})).toMatchObject({ kind: 'unreachable', exit: 1, message })
    expect(await operate('status', {})).toMatchObject({ value: { running: false, has_ledger: false } })
  })

  it('reaches a running server while the configuration is broken, and opens no ledger without one', async () => {
    const { stop, exit } = await start()
    await writeFile(join(folder, 'millrace.yaml'), 'server: { prot: 1 }\n')
    expect(await operate('status', {})).toMatchObject({ value: { running: true, data } })
    expect(await operate('accounts.list', {})).toMatchObject({ kind: 'done' })
    stop()
    await exit
    for (const name of ['status', 'accounts.list'] as const)
      expect(await operate(name, {})).toMatchObject({ exit: 2, message: expect.stringContaining('server.prot') })
  })

  it('status of an empty folder creates nothing', async () => {
    expect(await operate('status', {})).toMatchObject({ kind: 'done', value: { running: false, data } })
    await expect(stat(data)).rejects.toThrow()
  })

  it('reports a server of another version', async () => {
    await start()
    const other = createOperator({
      ...common(),
      version: '2.0.0',
      loadSettings: (place) => loadSettings(scene(), place),
      pause: async () => {},
    })
    expect(await other.call({ config: undefined, data }, 'models.list', {})).toMatchObject({
      kind: 'unreachable',
      exit: 5,
      message: expect.stringContaining('1.0.0'),
    })
    expect((await other.call({ config: undefined, data }, 'status', {})).kind).toBe('done')
  })

  it('waits for another command that has the folder, and gives up with 4', async () => {
    await mkdir(data)
    const commands = Array.from({ length: 5 }, (_, index) =>
      operate('accounts.create', { email: `user${index}@example.com` }),
    )
    expect((await Promise.all(commands)).map(({ kind }) => kind)).toEqual(Array(5).fill('done'))
    const books = await openTestApp({
      settings: mustLoad(),
      loadSettings: (managed) => loadSettings(scene(), { data }, managed),
      clock: systemClock,
      random: secureRandom,
      purpose: 'command',
    })
    expect(await operate('accounts.list', {})).toMatchObject({ kind: 'unreachable', exit: 4 })
    if (books.kind === 'open') await books.app.close()
  })
})

function mustLoad() {
  const loaded = loadSettings(scene(), { data })
  if (loaded.kind === 'invalid') throw new Error(loaded.message)
  return loaded.settings
}
