import { chmod, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { done, type Outcome } from '../admin/outcome.ts'
import { ADMIN_BOUNDS, type AdminSocket, openAdminSocket, placeAdminSocket, removeStaleSocket } from './admin-socket.ts'
import { sendToServer } from './operator.ts'

let folder: string
let server: AdminSocket
let failures: string[]
let run: (operation: string, args: unknown) => Promise<Outcome<unknown>>

const bounds = { ...ADMIN_BOUNDS, requestBytesMax: 10_000, connectionsMax: 4 }

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-socket-'))
  failures = []
  run = async (operation, args) => done({ operation, args })
  const onFailure = (operation: string) => void failures.push(operation)
  server = await openAdminSocket(
    { version: '1.0.0', run: (operation, args) => run(operation, args), onFailure, bounds },
    join(folder, 'admin.sock'),
  )
})

afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

const ask = (operation: string, args: unknown = {}, version = '1.0.0') =>
  sendToServer(server.path, { version, operation, args })

/** Sends bytes and collects what comes back until the server has closed or said `lines` lines. */
function send(bytes: string | Buffer, lines = 1): Promise<string[]> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(server.path)
    const end = () => {
      socket.destroy()
      resolve(text.split('\n').filter((line) => line !== ''))
    }
    socket.on('data', (chunk) => {
      text += chunk
      if (text.split('\n').length > lines) end()
    })
    socket.on('error', () => {})
    socket.on('close', end)
    socket.write(bytes)
  })
}

const stillServes = async () =>
  expect(await ask('echo', 1)).toMatchObject({ kind: 'reply', answer: { kind: 'answered' } })

describe('the admin socket', () => {
  it('answers its owner alone', async () => {
    expect((await stat(server.path)).mode & 0o777).toBe(0o600)
    expect(await ask('echo', { text: 'grüß\n' })).toEqual({
      kind: 'reply',
      answer: {
        version: '1.0.0',
        kind: 'answered',
        outcome: done({ operation: 'echo', args: { text: 'grüß\n' } }),
      },
    })
  })

  it('reports that the versions differ, except for status', async () => {
    expect(await ask('echo', {}, '0.9.0')).toMatchObject({ answer: { kind: 'other-version', version: '1.0.0' } })
    expect(await ask('status', {}, '0.9.0')).toMatchObject({ answer: { kind: 'answered' } })
  })

  it.each([
    ['not JSON', 'hello\n'],
    ['no object', '7\n'],
    ['an empty line', '\n'],
    ['missing parts', '{"version":"1.0.0"}\n'],
    ['a part too many', '{"version":"1.0.0","operation":"x","args":{},"sudo":true}\n'],
    ['broken UTF-8', Buffer.from([0xff, 0xfe, 0x00, 0x0a])],
    ['HTTP', 'GET / HTTP/1.1\r\n'],
  ])('refuses %s and goes on', async (_, bytes) => {
    expect(JSON.parse((await send(bytes))[0]!)).toMatchObject({ kind: 'malformed' })
    await stillServes()
  })

  it('does not keep a line that never ends', async () => {
    const [answer] = await send('x'.repeat(20_000))
    expect(JSON.parse(answer!)).toMatchObject({ kind: 'malformed', message: 'The request is too long.' })
    await stillServes()
  })

  it('answers requests of one connection in order, in pieces of any size', async () => {
    run = async (operation) => {
      if (operation === 'slow') await new Promise((resolve) => setTimeout(resolve, 20))
      return done(operation)
    }
    const line = (operation: string) => `${JSON.stringify({ version: '1.0.0', operation, args: {} })}\n`
    const answers = await send(line('slow') + line('quick') + line('last'), 3)
    expect(answers.map((answer) => JSON.parse(answer).outcome.value)).toEqual(['slow', 'quick', 'last'])
  })

  it('reports a failure without details', async () => {
    run = async () => {
      throw new Error('the secret is 42')
    }
    const reply = await ask('boom')
    expect(reply).toMatchObject({ answer: { kind: 'failed' } })
    expect(JSON.stringify(reply)).not.toContain('42')
    expect(failures).toEqual(['boom'])
  })

  it('survives a value that cannot be written as JSON', async () => {
    run = async () => done(1n)
    expect(await ask('boom')).toMatchObject({ answer: { kind: 'failed' } })
    run = async () => done(1)
    await stillServes()
  })

  it('survives clients that vanish in the middle of everything', async () => {
    run = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return done('x'.repeat(100_000))
    }
    const request = `${JSON.stringify({ version: '1.0.0', operation: 'big', args: {} })}\n`
    for (let cut = 0; cut < request.length; cut += 7) {
      const socket: Socket = connect(server.path)
      socket.on('error', () => {})
      await new Promise<void>((resolve) => socket.write(request.slice(0, cut) || request, () => resolve()))
      socket.destroy()
    }
    await stillServes()
  })

  it('does not serve more connections than it must', async () => {
    const idle = Array.from({ length: 8 }, () => connect(server.path).on('error', () => {}))
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect((await ask('echo')).kind).toBe('broken')
    for (const socket of idle) socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, 30))
    await stillServes()
  })

  it('replaces a socket that a killed server left', async () => {
    await server.close()
    const abandoned = await openAdminSocket({ version: '1', run, onFailure: () => {} }, server.path)
    server = await openAdminSocket({ version: '1.0.0', run, onFailure: () => {} }, server.path)
    await stillServes()
    await abandoned.close().catch(() => {})
  })
})

it('reports a folder at its path', async () => {
  const path = join(folder, 'taken.sock')
  await mkdir(path)
  const opening = openAdminSocket({ version: '1', run, onFailure: () => {} }, path)
  await expect(opening).rejects.toThrow(`The admin socket cannot be created at ${path}`)
})

describe('askServer', () => {
  it('detects that no server listens', async () => {
    expect(await sendToServer(join(folder, 'nobody.sock'), { version: '1', operation: 'x', args: {} })).toEqual({
      kind: 'absent',
    })
  })

  it('reports a timeout', async () => {
    run = () => new Promise(() => {})
    const reply = await sendToServer(server.path, { version: '1.0.0', operation: 'x', args: {} }, 20)
    expect(reply).toMatchObject({ kind: 'broken' })
  })
})

describe('placeAdminSocket', () => {
  it('puts it into the data folder', async () => {
    expect((await placeAdminSocket(folder)).path).toBe(join(folder, 'admin.sock'))
  })

  it('puts it elsewhere, in a folder for its owner alone, where the path would be cut off', async () => {
    const deep = join(folder, 'x'.repeat(100))
    const place = await placeAdminSocket(deep)
    expect(Buffer.byteLength(place.path)).toBeLessThanOrEqual(100)
    expect((await stat(dirname(place.path))).mode & 0o777).toBe(0o700)
    await place.remove()
    await expect(stat(dirname(place.path))).rejects.toThrow()
  })

  it('clears away what a killed server left in the temporary folder, and nothing else', async () => {
    const place = await placeAdminSocket(join(folder, 'x'.repeat(100)))
    await removeStaleSocket(folder, place.path)
    await expect(stat(dirname(place.path))).rejects.toThrow()
    await removeStaleSocket(folder, join(folder, 'admin.sock'))
    await removeStaleSocket(folder, join(tmpdir(), 'precious', 'a.sock'))
    await chmod(folder, 0o700)
    expect((await stat(folder)).isDirectory()).toBe(true)
  })
})
