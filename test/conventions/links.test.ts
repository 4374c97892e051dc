import { existsSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { expect, it } from 'vitest'
import { filesBelow, pages, ROOT, textOf } from './source-files.ts'

const withoutCode = (page: string): string => page.replace(/^ *```.*?^ *```/gms, '').replace(/`[^`\n]*`/g, '`')

/** What a page links to in this repository; what is on the web is not asked for. */
const linksIn = (page: string): string[] =>
  [...withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target ?? '')
    .filter((target) => !/^[a-z]+:/.test(target))

/** As the readers of Markdown make them: words in lower case, joined by hyphens. */
const anchorsIn = (page: string): string[] =>
  [...page.replace(/^ *```.*?^ *```/gms, '').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    (heading ?? '')
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

/** From the root of the checkout; the path of a page without a file is the page itself. */
function resolveLink(page: string, link: string): { readonly path: string; readonly anchor: string | undefined } {
  const [file = '', anchor] = link.split('#')
  return { path: file === '' ? page : posix.normalize(posix.join(dirname(page), file)).replace(/\/$/, ''), anchor }
}

function isDead(page: string, link: string): boolean {
  const { path, anchor } = resolveLink(page, link)
  if (path.startsWith('..') || !existsSync(join(ROOT, path))) return true
  return anchor !== undefined && !anchorsIn(textOf(path)).includes(anchor)
}

it('every link in a page leads somewhere', () => {
  const dead = pages().flatMap((page) =>
    linksIn(textOf(page))
      .filter((link) => isDead(page, link))
      .map((link) => `${page}: ${link}`),
  )
  expect(dead).toEqual([])
})

it('every page can be reached from the first one', () => {
  const reached = new Set(['README.md'])
  for (const page of reached) {
    for (const link of linksIn(textOf(page))) {
      const { path } = resolveLink(page, link)
      if (path.endsWith('.md')) reached.add(path)
    }
  }
  expect(filesBelow('docs').filter((path) => path.endsWith('.md') && !reached.has(path))).toEqual([])
})

it('a dead link would be noticed', () => {
  const page =
    '# One\n\n[a](gone.md) [b](#one) [c](#two) [d](https://example.com) `[e](gone.md)`\n\n```\n[f](gone.md)\n```\n'
  expect(linksIn(page)).toEqual(['gone.md', '#one', '#two'])
  expect(anchorsIn('## The `key` ring, [linked](a.md): one\n```\n# no\n```')).toEqual(['the-key-ring-linked-one'])
  expect(isDead('docs/api/errors.md', 'gone.md')).toBe(true)
  expect(isDead('docs/api/errors.md', '../../README.md')).toBe(false)
  expect(isDead('README.md', '#no-such-heading')).toBe(true)
})
