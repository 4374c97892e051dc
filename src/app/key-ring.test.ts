import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../store/open-database.ts'
import { checkRing } from './check-ring.ts'
import { type KeyRing, loadKeyRing } from './key-ring.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'millrace-ring-'))
})
afterEach(() => rmSync(dataDir, { recursive: true }))

const load = (secretFromEnvironment?: string) => loadKeyRing({ dataDir, secretFromEnvironment })
const ringPath = () => join(dataDir, 'keyring.json')

describe('the key ring', () => {
  it('is made at the first start, for its owner alone, and is the same one ever after', async () => {
    const first = await load()
    expect(first.source).toBe('new-file')
    expect(statSync(ringPath()).mode & 0o777).toBe(0o600)
    const second = await load()
    expect(second).toEqual({ ...first, source: 'file' })
    expect(second.pepper).toHaveLength(32)
    expect(second.fingerprint).toMatch(/^[0-9a-f]{32}$/)
  })

  it('is one ring when two starts make it at the same time', async () => {
    const rings = await Promise.allSettled([load(), load(), load()])
    const made = rings.filter((ring) => ring.status === 'fulfilled' && ring.value.source === 'new-file')
    expect(made).toHaveLength(1)
    const fingerprints = rings.flatMap((ring) => (ring.status === 'fulfilled' ? [ring.value.fingerprint] : []))
    expect(new Set(fingerprints).size).toBe(1)
  })

  it('comes from the environment when it is given there, and then writes nothing', async () => {
    const ring = await load('x'.repeat(32))
    expect(ring.source).toBe('environment')
    expect(existsSync(ringPath())).toBe(false)
    expect((await load('y'.repeat(32))).fingerprint).not.toBe(ring.fingerprint)
    await expect(load('short')).rejects.toThrow(/MILLRACE_SECRET_KEY is shorter/)
  })

  it('may have several keys, of which the primary one seals', async () => {
    const old = await load()
    const file = JSON.parse(readFileSync(ringPath(), 'utf8'))
    const next = { id: 'k2', secret: Buffer.alloc(32, 9).toString('base64url') }
    writeFileSync(ringPath(), JSON.stringify({ ...file, primary: 'k2', keys: [...file.keys, next] }))
    const ring = await load()
    expect(ring.keys.map(({ id }) => id)).toEqual(['k2', 'k1'])
    expect(ring.keys[1]).toEqual(old.keys[0])
    expect(ring.pepper).not.toEqual(old.pepper)
  })

  it('is not taken for one when it is something else, and its text is in no message', async () => {
    const secret = 'top-secret-text'
    const key = { id: 'k1', secret: 'A'.repeat(43) }
    for (const text of ['', secret, `{"keys": ${secret}`, JSON.stringify({ version: 1, primary: 'k9', keys: [key] })]) {
      writeFileSync(ringPath(), text)
      const failure = await load().catch((error: Error) => error)
      expect(failure).toMatchObject({ message: expect.stringMatching(/is not a key ring/) })
      expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain(secret)
    }
  })

  it.skipIf(process.getuid?.() === 0)('that cannot be read is an error, never a reason for a new one', async () => {
    await load()
    chmodSync(ringPath(), 0)
    await expect(load()).rejects.toThrow()
    chmodSync(ringPath(), 0o600)
  })
})

describe('a database', () => {
  const check = async (ring: KeyRing) => {
    const database = await openDatabase({ path: join(dataDir, 'ledger.db'), clock: { now: () => 1, ticks: () => 0 } })
    try {
      return await checkRing(database.db, ring)
    } finally {
      await database.close()
    }
  }

  it('remembers the ring that sealed it and refuses any other, with the cure', async () => {
    const ring = await load()
    expect(await check(ring)).toEqual({ kind: 'ours' })
    expect(await check(await load())).toEqual({ kind: 'ours' })
    expect(await check(await load('x'.repeat(32)))).toMatchObject({
      kind: 'refused',
      cure: expect.stringContaining('unset it'),
    })
    rmSync(ringPath())
    expect(await check(await load())).toMatchObject({
      kind: 'refused',
      cure: expect.stringContaining('this start made a new one'),
    })
    expect(await check(await load())).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('another key ring'),
    })
    expect(await check(ring)).toEqual({ kind: 'ours' })
  })

  it('says so when the key that sealed it is there, but no longer the primary one', async () => {
    const [k1, k2] = [
      { id: 'k1', secret: 'A'.repeat(43) },
      { id: 'k2', secret: 'B'.repeat(43) },
    ]
    writeFileSync(ringPath(), JSON.stringify({ version: 1, primary: 'k1', keys: [k1] }))
    expect(await check(await load())).toEqual({ kind: 'ours' })
    writeFileSync(ringPath(), JSON.stringify({ version: 1, primary: 'k2', keys: [k1, k2] }))
    expect(await check(await load())).toMatchObject({
      kind: 'refused',
      cure: 'Make "k1" the primary key of keyring.json again.',
    })
  })
})
