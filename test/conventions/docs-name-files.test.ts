import { expect, it } from 'vitest'
import { filesBelow, pages, textOf } from './source-files.ts'

/** `bench/NAME.mjs` stands for any of them. */
const FILE_NAME = /`((?:[\w.-]+\/)*(?![A-Z]+\.)[\w.-]+\.(?:tsx?|mjs))`/g
const files = filesBelow('src', 'console', 'test', 'scripts', 'bench')

/** A page names files from `src/`, from `console/` or from the root; where the folder is plain, by their last name. */
const exists = (name: string): boolean =>
  files.some(
    (path) =>
      path === name ||
      path === `src/${name}` ||
      path === `console/${name}` ||
      (!name.includes('/') && path.endsWith(`/${name}`)),
  )

const namedIn = (page: string): string[] => [...page.matchAll(FILE_NAME)].map(([, name]) => name ?? '')

it('every file that a page names is there', () => {
  const missing = pages().flatMap((page) =>
    namedIn(textOf(page))
      .filter((name) => !exists(name))
      .map((name) => `${page}: ${name}`),
  )
  expect(missing).toEqual([])
})

const COMMENT = /^\s*(?:\/\*\*?|\*|\/\/)(.*)$|\s\/\/ (.*)$/gm
/** With or without backticks; `./a.ts` and `*.ts` are examples. */
const FILE_IN_WORDS = /(?<![\w@./*-])(?=\w)((?:[\w.-]+\/)*(?![A-Z]+\.)[\w.-]+\.(?:tsx?|mjs))\b/g

const namedInComments = (code: string): string[] =>
  [...code.matchAll(COMMENT)]
    .flatMap(([, whole, behind]) => [...(whole ?? behind ?? '').matchAll(FILE_IN_WORDS)])
    .map(([, name]) => name ?? '')

it('every file that a comment names is there', () => {
  const missing = files
    .filter((path) => /\.(?:tsx?|mjs)$/.test(path))
    .flatMap((path) =>
      namedInComments(textOf(path))
        .filter((name) => !exists(name))
        .map((name) => `${path}: ${name}`),
    )
  expect(missing).toEqual([])
})

/** A script of package.json, what vitest is told to run, what node is: what they name has to be there. */
const scriptsIn = (page: string): string[] => [...page.matchAll(/npm run ([a-z:]+)/g)].map(([, name]) => name ?? '')
const pathsRunIn = (page: string): string[] =>
  [...page.matchAll(/(?:node|vitest run) (?:-\S+ )*((?:src|test|scripts|bench)\/[\w./-]+)/g)].map(
    ([, path]) => path ?? '',
  )

it('every script that a page tells a person to run is there', () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(textOf('package.json'))
  const missing = pages().flatMap((page) =>
    [
      ...scriptsIn(textOf(page)).filter((name) => !(name in scripts)),
      ...pathsRunIn(textOf(page)).filter((path) => !files.some((file) => file.startsWith(path))),
    ].map((name) => `${page}: ${name}`),
  )
  expect(missing).toEqual([])
})

it('a page that names a file which has moved would be noticed', () => {
  expect(namedIn('see `ledger/gone.ts`, `wire/chat/check-*.ts` and `npm test`')).toEqual(['ledger/gone.ts'])
  expect(exists('ledger/gone.ts')).toBe(false)
  const slashes = '/'.repeat(2)
  const code = `const a = 1 ${slashes} as in ledger/gone.ts\n/** Up to gone.mjs,\n * not ./gone.ts */\nimport('../gone.ts')`
  expect(namedInComments(code)).toEqual(['ledger/gone.ts', 'gone.mjs'])
  expect(scriptsIn('`npm run test:all` and npm run bench -- http')).toEqual(['test:all', 'bench'])
  expect(pathsRunIn('`npx vitest run src/gone.test.ts -u`, node --test test/gone.mjs')).toEqual([
    'src/gone.test.ts',
    'test/gone.mjs',
  ])
})
