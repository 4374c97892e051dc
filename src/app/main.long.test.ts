import { spawn } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chat, ended, MAIN, readiness, useProgram } from '../../test/fixtures/app/use-program.ts'

const program = useProgram()
const { start, millrace, json, serve } = program

describe('millrace', () => {
  it('makes an account that can call before a server ever ran, and manages it while one runs', async () => {
    const refused = await millrace('accounts create --email ann@example.com')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('There is no Millrace data in')])
    await mkdir(join(program.folder, '.local/share/millrace'), { recursive: true })
    const account = await json('accounts create --email ann@example.com')
    expect(account.id).toMatch(/^acct_/)
    await json('wallet credit ann@example.com 2.5 --reason gift --ref g1')
    const key = await json('keys create --account ann@example.com --kind wallet --name ci')
    expect(await json('status')).toMatchObject({ running: false })

    const { child, url, end } = await serve()
    expect(await json('status')).toMatchObject({ running: true, url, pid: child.pid })
    const answer = await chat(url, key.key)
    expect(answer.status).toBe(200)
    expect(await answer.text()).toMatch(/data: \[DONE\]\s*$/)
    const request = answer.headers.get('x-request-id')!
    const trace = await json(`trace ${request}`)
    expect(trace).toMatchObject({ state: 'settled', outcome: 'completed', account: { id: account.id } })
    expect(Number(trace.charge)).toBeGreaterThan(0)

    const standing = await json('wallet show ann@example.com')
    expect(Number(standing.available)).toBeCloseTo(2.5 - Number(trace.charge), 9)
    expect((await millrace(`keys revoke ${key.id}`)).code).toBe(2)
    expect((await chat(url, key.key)).status).toBe(200)
    expect((await millrace(`keys revoke ${key.id} --yes`)).code).toBe(0)
    expect((await chat(url, key.key)).status).toBe(401)
    expect(await json('db verify')).toMatchObject({ ok: true, violations: 0 })

    child.kill('SIGTERM')
    const { code, err } = await end
    expect(code).toBe(0)
    expect(err).toContain('0 lost')
    expect(await json(`trace ${request}`)).toEqual(trace)
  })

  it('ends cleanly with a JSON log, and reports it in its last line', async () => {
    const child = start(['serve', '--port', '0', '--log-format', 'json'])
    const end = ended(child)
    await new Promise<void>((resolve) =>
      child.stdout!.on('data', (chunk) => {
        if (String(chunk).includes('"ready"')) resolve()
      }),
    )
    child.kill('SIGTERM')
    const { code, out, err } = await end
    expect([code, err]).toEqual([0, ''])
    expect(JSON.parse(out.trimEnd().split('\n').at(-1)!)).toMatchObject({ msg: 'Stopped. 0 requests, 0 lost.' })
  })

  it('cuts at the second signal and charges what was delivered', async () => {
    const { child, url, end } = await serve()
    const key = (await readFile(join(program.folder, '.local/share/millrace/first-key'), 'utf8')).trim()
    const answer = await chat(url, key)
    const request = answer.headers.get('x-request-id')!
    const reader = answer.body!.getReader()
    for (let seen = ''; !seen.includes('"content":"H'); ) {
      const { value, done } = await reader.read()
      if (done) throw new Error('the answer ended before it was cut')
      seen += Buffer.from(value).toString()
    }
    child.kill('SIGINT')
    child.kill('SIGTERM')
    const { code, err } = await end
    expect(code).toBe(0)
    expect(err).toContain('0 lost')
    expect(await json(`trace ${request}`)).toMatchObject({ state: 'settled' })
    expect(await json('db verify')).toMatchObject({ ok: true })
  })

  it('recovers after it was killed', async () => {
    const first = await serve()
    first.child.kill('SIGKILL')
    await first.end
    expect(await json('status')).toMatchObject({ running: false })
    expect((await json('accounts list')).items).toHaveLength(1)
    const second = await serve()
    expect(await json('status')).toMatchObject({ running: true, pid: second.child.pid })
  })

  it('calls upstreams with the configuration of the running server', async () => {
    await writeFile(join(program.folder, 'theirs.yaml'), 'upstreams: [{ id: theirs, wire: demo }]\nmodels: []\n')
    const { child } = await serve('--config', 'theirs.yaml')
    const used = { config: join(program.folder, 'theirs.yaml'), server_pid: child.pid }
    expect(await json('upstreams list')).toMatchObject({ upstreams: [{ id: 'theirs' }], ...used })
    expect(await json('upstreams test')).toMatchObject({ lanes: [{ upstream: 'theirs' }], ...used })
    expect((await millrace('upstreams test')).err).toMatch(
      /^Testing 0 lanes of \S+theirs\.yaml, as the running server \(pid \d+\): a few/,
    )
  })

  it.each([
    ['where the shell does not know its name', false],
    ['where it is installed', true],
  ])('prints commands that run as they stand, %s', async (_, isInstalled) => {
    const odd = join(program.folder, "it's $HOME")
    const bin = join(program.folder, 'bin')
    for (const path of [odd, bin]) await mkdir(path)
    await writeFile(join(odd, 'my.yaml'), 'upstreams: [{ id: demo, wire: demo }]\nmodels: []\n')
    await symlink(process.execPath, join(bin, 'node'))
    await symlink(MAIN, join(bin, 'millrace'))
    const environment = {
      HOME: program.folder,
      MILLRACE_SERVER__METRICS_PORT: '0',
      PATH: isInstalled ? bin : '/bin:/usr/bin',
    }
    const command = isInstalled ? join(bin, 'millrace') : `${process.execPath} ${MAIN}`
    const run = (line: string) => program.keep(spawn('/bin/sh', ['-c', line], { cwd: tmpdir(), env: environment }))
    const place = `--config "$HOME/it's \\$HOME/my.yaml" --data "$HOME/it's \\$HOME/data"`
    const emitted = await readiness(run(`exec ${command} serve --port 0 ${place}`))
    const lines = emitted.split('\n').filter((line) => / --data /.test(line))
    expect(lines.map((line) => line.startsWith('    millrace '))).toEqual(Array(4).fill(isInstalled))
    for (const line of lines.slice(0, 3)) expect(await ended(run(line))).toMatchObject({ code: 0 })
    const keys = await ended(run(`${command} keys list --json ${place}`))
    expect(JSON.parse(keys.out)).toMatchObject({ items: [{ name: 'first' }] })
    const [, status] = /To see it: (.*)\. To use/.exec((await ended(run(lines[3]!))).err)!
    expect(await ended(run(status!))).toMatchObject({ code: 0 })
  })

  it('names the holder of a folder or a port, and exits with 4', async () => {
    const { child, url } = await serve()
    const folderTaken = await millrace('serve --port 0')
    expect(folderTaken.code).toBe(4)
    expect(folderTaken.err).toContain(`pid ${child.pid} (millrace`)
    const portTaken = await millrace(`serve --data other --port ${new URL(url).port}`)
    expect(portTaken.code).toBe(4)
    if (process.platform === 'linux')
      expect(portTaken.err).toContain(`is taken by another Millrace, pid ${child.pid} (millrace).`)
  })

  it('serves metrics on another port, and prints it, when the default port is taken', async () => {
    const first = start(['serve', '--port', '0', '--data', 'a'], { MILLRACE_SERVER__METRICS_PORT: '' })
    await readiness(first)
    const second = start(['serve', '--port', '0', '--data', 'b'], { MILLRACE_SERVER__METRICS_PORT: '' })
    const end = ended(second)
    await readiness(second)
    second.kill('SIGTERM')
    const { code, err } = await end
    expect(code).toBe(0)
    expect(err).toMatch(
      /Metrics are on port \d+: Port 4601 \(server\.metrics_port\) is taken by .* To choose one: --metrics-port/,
    )
  })

  it('checks and writes configurations', async () => {
    expect((await millrace('init --yes')).code).toBe(0)
    expect((await millrace('init --yes')).code).toBe(1)
    expect((await millrace('check --config millrace.yaml')).code).toBe(0)
    await writeFile(join(program.folder, 'bad.yaml'), 'server:\n  port: many\n')
    const bad = await millrace('check --config bad.yaml')
    expect(bad.code).toBe(2)
    expect(bad.err).toContain('bad.yaml:2:9')
    const { code, err } = await millrace('accounts list --config missing.yaml')
    expect([code, err.includes('missing.yaml')]).toEqual([2, true])
  })
})
