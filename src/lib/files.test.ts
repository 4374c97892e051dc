import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { failureSentences } from '../app/process.ts'
import { makeDataFolder, writePrivately } from './files.ts'

let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-write-'))
  path = join(folder, 'file')
})
afterEach(() => rm(folder, { recursive: true }))

const modeOf = async (file: string) => (await stat(file)).mode & 0o777

it('replaces a file that everybody may read by one that only its owner may', async () => {
  await writeFile(path, 'old')
  await chmod(path, 0o644)
  await writePrivately(path, 'new')
  expect([await readFile(path, 'utf8'), await modeOf(path), await readdir(folder)]).toEqual(['new', 0o600, ['file']])
})

it('replaces a link and leaves alone what it points to', async () => {
  const target = join(folder, 'target')
  await writeFile(target, 'theirs')
  await symlink(target, path)
  await writePrivately(path, 'ours')
  expect([await readFile(path, 'utf8'), await readFile(target, 'utf8'), await modeOf(path)]).toEqual([
    'ours',
    'theirs',
    0o600,
  ])
})

it('leaves nothing behind when it cannot replace', async () => {
  await expect(writePrivately(folder, 'x')).rejects.toThrow()
  expect(await readdir(folder)).toEqual([])
  expect((await readdir(join(folder, '..'))).filter((name) => name.startsWith(`${folder.split('/').at(-1)}.`))).toEqual(
    [],
  )
})

it('makes a data folder with the folders above it, and leaves alone one that is there', async () => {
  const data = join(folder, 'above', 'it', 'data')
  await makeDataFolder(data)
  expect(await modeOf(data)).toBe(0o700)
  await chmod(data, 0o750)
  await makeDataFolder(data)
  expect(await modeOf(data)).toBe(0o750)
})

it('says in words why the data folder cannot be made', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  await expect(makeDataFolder(join(file, 'data'))).rejects.toThrow(
    /file\/data cannot be created: a part of its path is a file\./,
  )
  const error = await makeDataFolder(file).catch((thrown: unknown) => thrown)
  expect(failureSentences(error)).toEqual([expect.stringMatching(/cannot be created: there is a file of that name\./)])
})
