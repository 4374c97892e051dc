import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../db/open-database.ts'
import { checkKeyring, findLedgerOfKeyring, type Keyring, loadKeyring, nameLedgerOfKeyring } from './key-ring.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'millrace-ring-'))
})
afterEach(() => rmSync(dataDir, { recursive: true }))

const load = (secretFromEnvironment?: string) => loadKeyring({ dataDir, secretFromEnvironment })
const keyringPath = () => join(dataDir, 'keyring.json')

describe('the key ring', () => {
  it('is made at the first start, for its owner alone, and is the same one ever after', async () => {
    const first = await load()
    expect(first.source).toBe('new-file')
    expect(statSync(keyringPath()).mode & 0o777).toBe(0o600)
    const second = await load()
    expect(second).toEqual({ ...first, source: 'file' })
    expect(second.keys).toMatchObject([{ id: expect.stringMatching(/^[0-9a-f]{32}$/), label: 'k1' }])
    expect(second.keys[0].secret).toHaveLength(32)
  })

  it.skipIf(process.platform === 'win32').each([0o644, 0o640, 0o604, 0o660, 0o601, 0o777])(
    'that others may read or write (%o) is closed to them, and that is told once',
    async (mode) => {
      const made = await load()
      chmodSync(keyringPath(), mode)
      expect(await load()).toEqual({ ...made, source: 'file', wasOpenTo: mode.toString(8).padStart(4, '0') })
      expect(statSync(keyringPath()).mode & 0o777).toBe(0o600)
      expect(await load()).not.toHaveProperty('wasOpenTo')
    },
  )

  it.skipIf(process.platform === 'win32')('of another user is refused with the cure, but for root', async () => {
    await load()
    const own = statSync(keyringPath()).uid
    const loadAs = (uid: number) => loadKeyring({ dataDir, secretFromEnvironment: undefined, uid })
    const message = `belongs to another user (uid ${own})`
    await expect(loadAs(own + 4242)).rejects.toThrow(message)
    await expect(loadAs(own + 4242)).rejects.toThrow(`chown ${own + 4242} ${keyringPath()}`)
    expect((await loadAs(0)).source).toBe('file')
    expect((await loadAs(own)).source).toBe('file')
  })

  it('is one ring when several starts make it at the same time, and none of them reads half of it', async () => {
    const rings = await Promise.all([load(), load(), load(), load()])
    expect(rings.filter(({ source }) => source === 'new-file')).toHaveLength(1)
    expect(new Set(rings.map(({ keys }) => keys[0].id)).size).toBe(1)
    expect(readdirSync(dataDir)).toEqual(['keyring.json'])
  })

  it('names its ledger, and nothing else of it changes; where it may not be written it stays as it is', async () => {
    const before = await load()
    expect(findLedgerOfKeyring(dataDir)).toBe(undefined)
    expect(await nameLedgerOfKeyring(dataDir, 'a1')).toBe(true)
    expect(findLedgerOfKeyring(dataDir)).toBe('a1')
    expect(statSync(keyringPath()).mode & 0o777).toBe(0o600)
    expect((await load()).keys).toEqual(before.keys)
    renameSync(keyringPath(), join(dataDir, 'elsewhere.json'))
    symlinkSync('elsewhere.json', keyringPath())
    expect(await nameLedgerOfKeyring(dataDir, 'b2')).toBe(false)
    expect(findLedgerOfKeyring(dataDir)).toBe('a1')
    rmSync(keyringPath())
    expect(await nameLedgerOfKeyring(dataDir, 'b2')).toBe(false)
    expect(existsSync(keyringPath())).toBe(false)
  })

  it('comes from the environment when it is given there, and then writes nothing', async () => {
    const ring = await load('x'.repeat(32))
    expect(ring.source).toBe('environment')
    expect(existsSync(keyringPath())).toBe(false)
    expect((await load('y'.repeat(32))).keys[0].id).not.toBe(ring.keys[0].id)
    await expect(load('short')).rejects.toThrow(/MILLRACE_SECRET_KEY has a secret of fewer/)
  })

  it('may have several keys, of which the primary one seals', async () => {
    const old = await load()
    const file = JSON.parse(readFileSync(keyringPath(), 'utf8'))
    const next = { id: 'k2', secret: Buffer.alloc(32, 9).toString('base64url') }
    writeFileSync(keyringPath(), JSON.stringify({ ...file, primary: 'k2', keys: [...file.keys, next] }))
    const ring = await load()
    expect(ring.keys.map(({ label }) => label)).toEqual(['k2', 'k1'])
    expect(ring.keys[1]).toEqual(old.keys[0])
  })

  it('may have several secrets in the environment, of which the first one seals', async () => {
    const [older, newer] = ['x'.repeat(32), 'y'.repeat(40)] as const
    const [old, ring] = [await load(older), await load(` ${newer}  ${older}\n`)]
    expect(ring.keys.map(({ secret }) => String(secret))).toEqual([newer, older])
    expect(ring.keys[1]).toEqual(old.keys[0])
    await expect(load(`${older} short`)).rejects.toThrow(/has a secret of fewer than 32/)
    await expect(load(' ')).rejects.toThrow(/has a secret of fewer than 32/)
  })

  it('gives a secret the same id under any label, in the environment and in the file', async () => {
    const secret = 'a secret-that-was/in+the environment'.replaceAll(' ', '_')
    const key = { id: 'moved', secret: Buffer.from(secret).toString('base64url') }
    writeFileSync(keyringPath(), JSON.stringify({ version: 1, primary: 'moved', keys: [key] }))
    const [inFile, inEnvironment] = [await load(), await load(secret)]
    expect(inFile.keys[0]).toEqual({ ...inEnvironment.keys[0], label: 'moved' })
  })

  it('is not taken for one when it is something else, and its text is in no message', async () => {
    const secret = 'top-secret-text'
    const key = { id: 'k1', secret: 'A'.repeat(43) }
    const keyringWith = (...keys: object[]) => JSON.stringify({ version: 1, primary: 'k1', keys })
    for (const [text, fault] of [
      ['', 'its text is not JSON'],
      [secret, 'its text is not JSON'],
      [`{"keys": ${secret}`, 'its text is not JSON'],
      [keyringWith(), 'keys is not'],
      [keyringWith(key, { id: 'k2', secret }), 'keys.1.secret is not base64url of 43 or more'],
      [keyringWith(key, { [secret]: secret }), 'keys.1.id is not'],
      [keyringWith({ ...key, [secret]: 1 }), 'keys.0 is not'],
      [keyringWith({ ...key, id: 'k2' }), '"primary" is the id of none'],
      [keyringWith(key, { ...key, secret: 'B'.repeat(43) }), 'two of its keys have the same id'],
    ] as const) {
      writeFileSync(keyringPath(), text)
      const failure = await load().catch((error: Error) => error)
      expect(failure).toMatchObject({ message: expect.stringContaining(`is not a key ring: ${fault}`) })
      expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain(secret)
    }
  })

  it.skipIf(process.getuid?.() === 0)('that cannot be read is an error, never a reason for a new one', async () => {
    await load()
    chmodSync(keyringPath(), 0)
    await expect(load()).rejects.toThrow()
    chmodSync(keyringPath(), 0o600)
  })
})

describe('a database', () => {
  const check = async (ring: Keyring) => {
    const database = await openDatabase({
      path: join(dataDir, 'ledger.db'),
      clock: { now: () => 1, nowMicros: () => 0 },
    })
    try {
      return await checkKeyring(database.db, ring)
    } finally {
      await database.close()
    }
  }

  const [k1, k2, k3] = ['A', 'B', 'C'].map((letter, index) => ({ id: `k${index + 1}`, secret: letter.repeat(43) }))
  const loadFile = (primary: string, ...keys: unknown[]) => {
    writeFileSync(keyringPath(), JSON.stringify({ version: 1, primary, keys }))
    return load()
  }
  const foundingOf = async (ring: Keyring) => {
    const checked = await check(ring)
    return checked.kind === 'ours' ? checked.keyring.founding.label : checked
  }

  it('remembers its founding key and refuses a ring without it, with the remedy', async () => {
    const ring = await load()
    expect(await foundingOf(ring)).toBe('k1')
    expect(await foundingOf(await load())).toBe('k1')
    expect(await check(await load('x'.repeat(32)))).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/is not on the key ring.*unset MILLRACE_SECRET_KEY/),
    })
    rmSync(keyringPath())
    expect(await check(await load())).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('this start made a new one'),
    })
    expect(await check(await load())).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('Put that key back into keyring.json'),
    })
    expect(await foundingOf(ring)).toBe('k1')
  })

  it('finds its founding key anywhere on the ring, under any label', async () => {
    expect(await foundingOf(await loadFile('k1', k1))).toBe('k1')
    expect(await foundingOf(await loadFile('k2', k1, k2))).toBe('k1')
    expect(await foundingOf(await loadFile('k3', k3, k2, k1))).toBe('k1')
    expect(await foundingOf(await loadFile('k3', { ...k1, id: 'oldest' }, k3))).toBe('oldest')
    expect(await foundingOf(await loadFile('k2', k2, k3))).toMatchObject({ kind: 'refused' })
    expect(await foundingOf(await loadFile('k1', { ...k2, id: 'k1' }))).toMatchObject({ kind: 'refused' })
    expect(await foundingOf(await loadFile('k1', k2, k1))).toBe('k1')
  })
})
