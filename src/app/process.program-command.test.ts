import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { programCommand } from './process.ts'

let folder: string
let script: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'millrace command-')))
  script = join(folder, 'main.js')
  for (const name of ['main.js', 'other.js', 'node']) await writeFile(join(folder, name), '')
  for (const name of ['bin', 'other-bin', 'node_modules/.bin']) await mkdir(join(folder, name), { recursive: true })
  await symlink(script, join(folder, 'bin/millrace'))
  await symlink(join(folder, 'node'), join(folder, 'bin/node'))
  await symlink(join(folder, 'other.js'), join(folder, 'other-bin/millrace'))
  await symlink(script, join(folder, 'node_modules/.bin/millrace'))
})
afterEach(() => rm(folder, { recursive: true }))

function command(path: readonly string[], byNpm?: string): string {
  const PATH = path.map((name) => join(folder, name)).join(delimiter)
  const started = programCommand({
    node: join(folder, 'node'),
    script,
    environment: { PATH, ...(byNpm !== undefined && { npm_lifecycle_event: byNpm }) },
  })
  return started.replaceAll(folder, 'F')
}

it('is millrace when the PATH leads to this script', () => {
  expect(command(['nowhere', 'bin'])).toBe('millrace')
  expect(command(['bin', 'other-bin'])).toBe('millrace')
  expect(command(['node_modules/.bin'])).toBe('millrace')
})

it('is Node and the script when millrace on the PATH is another file or missing, not counting the folders of npm', () => {
  expect(command(['other-bin', 'bin'])).toBe("node 'F/main.js'")
  expect(command([])).toBe("'F/node' 'F/main.js'")
  expect(command(['node_modules/.bin'], 'start')).toBe("'F/node' 'F/main.js'")
  expect(command(['node_modules/.bin', 'bin'], 'npx')).toBe('millrace')
})

it.each([
  ['millrace', '^1.0.0', 'npx millrace'],
  ['millrace@1.0.0', '^1.0.0', 'npx millrace@1.0.0'],
  ['./millrace-1.0.0.tgz', 'file:../../millrace-1.0.0.tgz', "npx --package 'ROOT/millrace-1.0.0.tgz' millrace"],
  ['https://a.example/m.tgz', 'https://a.example/m.tgz', 'npx --package https://a.example/m.tgz millrace'],
])('is npx with the package that it was given: %s', async (wanted, dependency, expected) => {
  const cache = join(folder, 'npx/1a2b')
  const bin = join(cache, 'node_modules/.bin')
  await mkdir(bin, { recursive: true })
  await writeFile(
    join(cache, 'package.json'),
    JSON.stringify({ dependencies: { millrace: dependency }, _npx: { packages: [wanted] } }),
  )
  const started = { node: join(folder, 'node'), script: join(bin, 'millrace') }
  const environment = { PATH: bin, npm_lifecycle_event: 'npx' }
  expect(programCommand({ ...started, environment })).toBe(expected.replace('ROOT', folder))
  // The same file without npx.
  expect(programCommand({ ...started, environment: {} })).toContain('node_modules/.bin/millrace')
})
