import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createClosing } from '../lib/async.ts'
import { createFileWork } from './ledger-files.ts'

it('refuses a second backup while one runs, and deletes the first when the server stops', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-ledger-files-'))
  const data = join(folder, 'data')
  mkdirSync(data)
  const closing = createClosing()
  const settings = { config: { storage: { data } }, origin: { kind: 'defaults' } }
  // Nothing of them is read before the copy has begun.
  const work = createFileWork(settings as never, {} as never, { settings } as never, closing)
  let fail: ((error: Error) => void) | undefined
  const copyTo = (name: string) =>
    work.copyFiles({
      ...{ folder: join(folder, name), key_ring: true },
      begin: () =>
        new Promise((_, reject) => {
          fail = reject
        }),
    })
  const first = copyTo('first')
  expect(await copyTo('second')).toMatchObject({ kind: 'refused', message: expect.stringContaining('is running') })
  while (fail === undefined) await new Promise(setImmediate)
  expect(readdirSync(folder)).toContain('first')
  ;(fail as (error: Error) => void)(Object.assign(new Error('no'), { code: 'ENOSPC' }))
  await closing.close()
  expect(await first).toMatchObject({ kind: 'refused' })
  expect(readdirSync(folder)).toEqual(['data'])
  rmSync(folder, { recursive: true })
})
