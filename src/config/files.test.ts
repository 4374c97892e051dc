import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readConfigFile } from './files.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

const written = (name: string, bytes: Uint8Array | string) => {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

test('text is read with or without a byte order mark', () => {
  expect(readConfigFile(written('plain', 'é'))).toEqual({ kind: 'text', text: 'é' })
  expect(readConfigFile(written('marked', '\ufeffé'))).toEqual({ kind: 'text', text: 'é' })
})

test('a binary file, a folder and a missing file are distinguished', () => {
  expect(readConfigFile(written('bytes', Buffer.from([0xff, 0xfe, 0x41])))).toMatchObject({
    kind: 'unreadable',
    reason: 'it is not UTF-8 text',
  })
  expect(readConfigFile(folder)).toMatchObject({ kind: 'unreadable', reason: 'it is a folder' })
  expect(readConfigFile(join(folder, 'nowhere'))).toEqual({ kind: 'missing' })
  expect(readConfigFile(join(folder, 'plain', 'below'))).toEqual({ kind: 'missing' })
})
