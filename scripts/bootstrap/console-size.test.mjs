import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import { filesOf, firstLoad } from './console-size.mjs'

const built = mkdtempSync(join(tmpdir(), 'millrace-size-'))
afterAll(() => rmSync(built, { recursive: true, force: true }))

const manifest = {
  'index.html': { file: 'index.js', imports: ['_shared.js'] },
  '_shared.js': { file: 'shared.js' },
  'words/en.ts': { file: 'en.js' },
  'words/de.ts': { file: 'de.js' },
  'pages/small/SmallPage.tsx': { file: 'small.js', imports: ['index.html'] },
  'pages/large/LargePage.tsx': { file: 'large.js', imports: ['_shared.js', '_charts.js'] },
  '_charts.js': { file: 'charts.js', imports: ['index.html'] },
}
const textOf = (file) => `// ${file}\n`.repeat(file === 'large.js' ? 9 : 1)

it('the first load is the entry, one language and the largest page, each file once', () => {
  mkdirSync(join(built, '.vite'))
  writeFileSync(join(built, '.vite', 'manifest.json'), JSON.stringify(manifest))
  for (const { file } of Object.values(manifest)) writeFileSync(join(built, file), textOf(file))
  const loaded = ['index.js', 'shared.js', 'en.js', 'large.js', 'charts.js']
  expect(firstLoad(built)).toBe(loaded.reduce((sum, file) => sum + gzipSync(textOf(file), { level: 9 }).length, 0))
})

it('a build that lacks what it should have is noticed', () => {
  expect(() => filesOf({}, ['index.html'])).toThrow('no index.html')
})
