import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import { filesOf, firstLoad, pagesBySize } from './console-size.mjs'

const built = mkdtempSync(join(tmpdir(), 'millrace-size-'))
afterAll(() => rmSync(built, { recursive: true, force: true }))

const manifest = {
  '_index.js': { file: 'index.js', imports: ['_shared.js'] },
  '_shared.js': { file: 'shared.js' },
  'messages/en.ts': { file: 'en.js' },
  'messages/de.ts': { file: 'de.js' },
  'messages/en/large.ts': { file: 'en-large.js' },
  'messages/de/large.ts': { file: 'de-large.js' },
  'pages/small/SmallPage.tsx': { file: 'small.js', imports: ['_index.js'] },
  'pages/large/LargePage.tsx': { file: 'large.js', imports: ['_shared.js', '_charts.js'] },
  '_charts.js': { file: 'charts.js', imports: ['_index.js'] },
}
const routes = `
  page('/small', [], () => import('./pages/small/SmallPage.tsx'), 'SmallPage'),
  page(
    '/large',
    ['large'],
    () => import('./pages/large/LargePage.tsx'),
    'LargePage',
  ),
`
const MANY = new Set(['large.js', 'de-large.js'])
const textOf = (file) => Array.from({ length: MANY.has(file) ? 9 : 1 }, (_, line) => `// ${file} ${line}\n`).join('')

it('the first load is the entry and the largest page with their messages in the larger language, each file once', () => {
  mkdirSync(join(built, '.vite'))
  writeFileSync(join(built, '.vite', 'manifest.json'), JSON.stringify(manifest))
  writeFileSync(join(built, 'index.html'), '<script type="module" src="/console/index.js"></script>')
  for (const { file } of Object.values(manifest)) writeFileSync(join(built, file), textOf(file))
  const loaded = ['index.js', 'shared.js', 'large.js', 'charts.js', 'de.js', 'de-large.js']
  expect(pagesBySize(built, routes).map(({ page }) => page)).toEqual([
    'pages/large/LargePage.tsx',
    'pages/small/SmallPage.tsx',
  ])
  expect(firstLoad(built, routes)).toBe(
    loaded.reduce((sum, file) => sum + gzipSync(textOf(file), { level: 9 }).length, 0),
  )
})

it('an incomplete build is detected', () => {
  expect(() => filesOf({}, ['messages/en.ts'])).toThrow('no messages/en.ts')
})
